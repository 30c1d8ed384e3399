"""A Hypothesis strategy that prints v1 kernels, with the odd spacing and comments people write."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

_OPS = ("sum", "max", "min")
_COMMENTS = (
    "",
    "",
    "  # why",
    "  # type: ignore[index]",
    "  # \N{GREEK SMALL LETTER ALPHA}; x = 1",
)


@dataclass(frozen=True)
class Written:
    """A printed kernel: its text, and the names of its reducers."""

    text: str
    reducers: tuple[str, ...]


def _indent(lines: list[str], unit: str) -> list[str]:
    return [unit + line if line else line for line in lines]


@st.composite
def contributions(draw: st.DrawFn) -> str:
    return draw(
        st.sampled_from(
            [
                "A[i]",
                "A[i] * A[7 - i]",
                "T.exp(A[i] - m)",
                "(A[i] + 1)",
                "(A[i] if flag else 0)",
                'A[i].astype("float32")',
                "T.if_then_else(A[i] > 0, A[i], 0)",
            ]
        )
    )


@st.composite
def update(draw: st.DrawFn, name: str, op: str) -> str:
    value = draw(contributions())
    target = f"{name}[{draw(st.sampled_from(['0', ' 0 ', 'i % 2']))}]"
    if op == "sum":
        forms = [
            f"{target} += {value}",
            f"{target}  -=  {value}",
            f"{target} = {target} + {value}",
            f"{target} = {value} + {target}",
            f"{target} = {target} - {value} + A[0]",
            f"{target} = ({target} + {value}) + A[0]",
        ]
    else:
        forms = [
            f"{target} = T.{op}({target}, {value})",
            f"{target} = T.{op}( {value},{target} )",
            f"{target} = T.{op}(T.{op}({target}, {value}), A[0])",
        ]
    return draw(st.sampled_from(forms)) + draw(st.sampled_from(_COMMENTS))


@st.composite
def reducer(draw: st.DrawFn, name: str, unit: str) -> list[str]:
    op = draw(st.sampled_from(_OPS))
    # How the combine may be spelled; sum is the default.
    spelled = {"sum": ["", ', op="sum"', ', "sum"'], "max": [', op="max"'], "min": [", 'min'"]}
    shape = draw(st.sampled_from(["(2,)", "(2, )", "[2]", "2", "n"]))
    dtype = draw(st.sampled_from(["T.float32", "dtype", '"float32"']))
    mode = draw(st.sampled_from(["mode", "None", "'all'"]))
    combine = draw(st.sampled_from(spelled[op]))
    call = f"T.alloc_reducer({shape}, {dtype}{combine}, replication={mode})"
    opening = draw(
        st.sampled_from(
            {
                "sum": [f"T.clear({name})", f"T.fill({name}, 0.0)", f"T.fill( {name} , 0 )"],
                "max": [f"T.fill({name}, -T.infinity(dtype))", f"T.clear({name})"],
                "min": [f"T.fill({name}, T.infinity(dtype))", f"T.fill({name}, start)"],
            }[op]
        )
    )
    sites = draw(st.integers(1, 2))
    updates = [draw(update(name, op)) for _ in range(sites)]
    if draw(st.booleans()):
        updates = ["if A[i] > 0:", *_indent(updates, unit)]
    loop = ["for i in T.Parallel(8):", *_indent(updates, unit)]
    if draw(st.booleans()):
        head = draw(st.sampled_from(["T.serial(4)", "T.Pipelined(4, num_stages=2)", "range(3)"]))
        loop = [f"for k in {head}:", *_indent(loop, unit)]
    batch = draw(st.sampled_from(["", "", ", batch=2", ", 1"]))
    reads = draw(
        st.lists(
            st.sampled_from(
                [
                    f"T.copy({name}, B)",
                    f"B[0] = {name}[0] * 2",
                    f"if {name}[0] > 1: B[1] = {name}[1]",
                    f"B[T.cast({name}[0], 'int32')] = 0  # {name}",
                    f"{name}[0] = {name}[0] / 3",
                ]
            ),
            min_size=1,
            max_size=3,
        )
    )
    alloc = f"{name} = {call}{draw(st.sampled_from(_COMMENTS))}"
    opened = [alloc, opening] if draw(st.booleans()) else [f"{alloc.split('  #')[0]}; {opening}"]
    return [*opened, "", *loop, f"T.finalize_reducer({name}{batch})", *reads]


@st.composite
def kernels(draw: st.DrawFn) -> Written:
    """A module with one kernel of one to three reducers, in some indentation."""
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    names = draw(
        st.lists(
            st.sampled_from(["acc", "o_frag", "R", "acc_result"]),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )
    body = [line for name in names for line in draw(reducer(name, unit))]
    looped = draw(st.booleans())
    if looped:
        body = ["for t in T.serial(2):", *_indent(body, unit)]
    lines = [
        "import tilelang.language as T",
        "",
        "",
        "def factory(n, dtype, mode, flag, m, start):",
        *_indent(
            [
                "@T.prim_func",
                'def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((2,), "float32")):',
                *_indent(["with T.Kernel(1, threads=128):", *_indent(body, unit)], unit),
                "",
                "return kernel",
            ],
            unit,
        ),
        "",
        'EXPECTED = "acc[0] += T.finalize_reducer(acc)"  # untouched',
    ]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return Written(newline.join(lines) + draw(st.sampled_from(["", newline])), tuple(names))
