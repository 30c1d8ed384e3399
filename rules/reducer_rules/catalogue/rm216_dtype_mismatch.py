"""RM216: the destination, or a seed, does not have the reducer's dtype or shape.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Finalize, Init, InitForm, Timeline


class DtypeMismatch(SemanticRule):
    code = "RM216"
    name = "dtype-mismatch"
    summary = "a destination or seed does not have the reducer's dtype or shape"
    explanation = (
        "The finalize writes the logical outputs one to one. TileLang 0.1.14 and later refuse a "
        "destination of another dtype or rank (tile-ai/tilelang#2940) and compare no extents: on "
        "0.1.15 a fragment of 4 silently takes the first 4 of 8 outputs. A seed that is an "
        "expression must have the reducer's dtype too; Python numbers are converted."
    )
    help = "use the dtype and shape of the reducer"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float16")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((8,), "float32")
result = T.alloc_fragment((4,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[i], A[i])
T.finalize_reducer(acc, result)
B[0] = result[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for finalize in timeline.finalizes:
            problem = _destination_problem(finalize, timeline)
            if problem is not None:
                yield self.finding(
                    finalize,
                    f"reducer `{timeline.name}` {problem}",
                    target,
                    help=f"allocate `{finalize.destination}` with the dtype and shape of "
                    f"`{timeline.name}`",
                    label="does not fit",
                )
        for init in timeline.inits:
            if _other_dtype(init, timeline):
                yield self._seed(init, timeline, target)

    def _seed(self, init: Init, timeline: Timeline, target: Target) -> Finding:
        assert init.fill is not None  # _other_dtype looked at it
        return self.finding(
            init,
            f"the seed `{init.fill.text}` is {init.fill.dtype}, and reducer `{timeline.name}` "
            f"is {timeline.dtype}",
            target,
            help=f'cast it: `T.cast({init.fill.text}, "{timeline.dtype}")`',
            label=str(init.fill.dtype),
        )


def _destination_problem(finalize: Finalize, timeline: Timeline) -> str | None:
    dtype, wanted = finalize.destination_dtype, timeline.dtype
    if dtype is not None and wanted is not None and dtype != wanted:
        return f"is {wanted}, and its destination `{finalize.destination}` is {dtype}"
    shape, full = finalize.destination_shape, timeline.shape
    if shape is not None and full is not None and not _same_shape(shape, full):
        return (
            f"has shape {_spell(full)}, and its destination `{finalize.destination}` has "
            f"{_spell(shape)}"
        )
    return None


def _same_shape(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return len(left) == len(right) and all(
        a == b or a is None or b is None for a, b in zip(left, right, strict=True)
    )


def _spell(shape: tuple[int | None, ...]) -> str:
    extents = ", ".join("?" if extent is None else str(extent) for extent in shape)
    return f"({extents},)" if len(shape) == 1 else f"({extents})"


def _other_dtype(init: Init, timeline: Timeline) -> bool:
    return (
        init.form is InitForm.REDUCER_INIT
        and init.fill is not None
        and init.fill.dtype is not None
        and timeline.dtype is not None
        and init.fill.dtype != timeline.dtype
    )
