"""What the source adds up to equals what correct lowering computes, on every golden kernel."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.corpus import Golden, goldens
from tests.lowering.instances import INSTANCES

if find_spec("tilelang") is None or find_spec("ml_dtypes") is None:
    pytest.skip(
        "tilelang is not installed (pip install 'reducer-migrate[compat]')",
        allow_module_level=True,
    )

import numpy as np
import tilelang

import reducer_compat
from reducer_compat.simt.intrinsics import is_scalar
from reducer_compat.simt.lowering import installed
from reducer_compat.verify.building import Built, build
from reducer_compat.verify.counting import count
from reducer_compat.verify.inputs import Parameter, parameters, values
from reducer_compat.verify.loading import execute
from reducer_compat.verify.protocol import Request, Trouble
from reducer_compat.verify.running import Ran, interpret
from reducer_migrate.verify.verdict import first_difference

REQUEST = Request("", {}, {}, 0, "sm_75", False, "")
GOLDEN_FILES = Path(__file__).resolve().parents[1] / "golden"
#: Built from tensors, which the golden's instance names.
TENSORS = {"eager_jit"}
BUILT = tuple(golden for golden in goldens() if golden.name in INSTANCES.keys() - TENSORS)


@pytest.fixture(autouse=True)
def _runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels are lowered by the runtime; the modules of the files are forgotten again."""
    monkeypatch.setattr(tilelang, "compile", tilelang.compile)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")
    reducer_compat.install()
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == GOLDEN_FILES:
            del sys.modules[name]


def _built(path: Path, name: str, arguments: tuple[object, ...]) -> Built:
    module = execute(str(path), str(path))
    function = getattr(module, name)
    if hasattr(function, "buffer_map"):
        return build(module, name, {})
    given = {
        parameter: {"$language": True} if value == "T" else value
        for parameter, value in zip(inspect.signature(function).parameters, arguments, strict=False)
    }
    return build(module, name, given)


def _both(built: Built) -> tuple[Ran, Ran, tuple[Parameter, ...]]:
    found = parameters(built.prim_func, {})
    return count(built, found, REQUEST), interpret(built, found, REQUEST), found


@pytest.mark.parametrize("golden", BUILT, ids=lambda golden: golden.name)
def test_the_rewrite_computes_what_its_source_adds_up_to(golden: Golden) -> None:
    compared: set[str] = set()
    for function, arguments in INSTANCES[golden.name]:
        counted, ran, found = _both(_built(golden.output_path, function, arguments))
        dtypes = {parameter.name: parameter.dtype for parameter in found if parameter.written}
        compared |= dtypes.keys()
        assert ran.faults == ()
        assert first_difference(ran.outputs, counted.outputs, dtypes) is None
    assert compared


def _kernel(body: str, threads: int = 32) -> str:
    return f"""
import tilelang.language as T


@T.prim_func
def main(X: T.Tensor((64,), "float32"), out: T.Tensor((1,), "float32")):
    with T.Kernel(2, threads={threads}) as block:
        acc = T.alloc_reducer((1,), "float32", op="sum")
        total = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(64):
            T.reducer_update(acc[0], X[i])
        T.finalize_reducer(acc, total)
{body}
"""


@pytest.mark.parametrize(
    ("body", "factor"),
    [
        ("        if T.get_thread_binding() == 0:\n            T.atomic_add(out[0], total[0])", 2),
        ("        T.atomic_add(out[0], total[0])", 2 * 32),
        ("        for i in T.Parallel(8):\n            T.atomic_add(out[0], total[0])", 2 * 8),
        ("        if block == 1:\n            T.thread_return()\n"
         "        if T.get_thread_binding() < 3:\n            T.atomic_add(out[0], total[0])", 3),
        ("        for k in T.serial(5):\n            if k == 3:\n                T.loop_break()\n"
         "            if T.get_thread_binding() == 0:\n"
         "                T.atomic_add(out[0], total[0])", 2 * 3),
    ],
    ids=["one thread", "every thread", "every iteration", "return", "break"],
)  # fmt: skip
def test_threads_and_blocks_count_where_the_source_says_so(
    tmp_path: Path, body: str, factor: int
) -> None:
    path = tmp_path / "threads.py"
    path.write_text(_kernel(body))
    counted, ran, found = _both(_built(path, "main", ()))
    assert first_difference(ran.outputs, counted.outputs, {"out": "float32"}) is None
    (out,) = [parameter for parameter in found if parameter.name == "out"]
    start = values(out, 0, "positive", {})
    inputs = values(found[0], 0, "positive", {})
    assert counted.outputs["positive"]["out"] == start + factor * inputs.sum()
    assert counted.contributions == 2 * 64


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("        out[0] = T.shfl_sync(total[0], 0)", "the operation"),
        ("        for i in T.Parallel(64):\n            out[0] = out[0] * 2 + X[i]",
         "iterations that build on each other in out"),
        ("        mine = T.alloc_local((1,), \"float32\")\n"
         "        mine[0] = T.get_thread_binding()\n        out[0] = mine[0]",
         "mine, of which every thread has its own"),
    ],
    ids=["a shuffle", "a recurrence", "storage of a thread"],
)  # fmt: skip
def test_what_has_no_meaning_without_threads_is_refused(
    tmp_path: Path, body: str, said: str
) -> None:
    path = tmp_path / "refused.py"
    path.write_text(_kernel(body))
    built = _built(path, "main", ())
    with pytest.raises(Trouble, match=said):
        count(built, parameters(built.prim_func, {}), REQUEST)


#: What TileLang computes of its operands alone and the interpreter knows under no name yet.
UNKNOWN_OPS = {"ldexp", "tl.__fns"}
#: What is no number that a kernel computes: hints, handles of memory, and what depends on a thread.
NO_SCALARS = {
    "address_of", "end_profile_intrinsic", "handle_add_byte_offset", "ignore_loop_partition",
    "isnullptr", "start_profile_intrinsic", "tl.create_tma_descriptor", "tl.get_lane_idx",
    "tl.get_warp_group_idx", "tl.get_warp_idx", "tl.get_warp_idx_sync", "tl.tl_shuffle_elect",
    "tvm_thread_invariant",
}  # fmt: skip
#: Spelled as opaque by TVM, so that they are not moved, and functions of their operands all the
#: same.
OPAQUE_SCALARS = re.compile(r"tl\.(__\w+|fast_rcp)")


def _pure_ops() -> set[str]:
    """The ops that members of the language give for numbers, and that are functions of these."""
    import tilelang.language as language

    _, _, tir = installed()
    found: set[str] = set()
    for name in dir(language):
        member = getattr(language, name)
        if not callable(member) or inspect.isclass(member):
            continue
        for dtype, arity in itertools.product(("float32", "int32", "bool"), (1, 2, 3)):
            try:
                made = member(*(tir.module.Var(letter, dtype) for letter in "abc"[:arity]))
            except Exception:
                continue
            if type(made).__name__ == "Call":
                op = tir.op_name(made)
                effect = getattr(made.op, "get_attr", lambda _: None)("TCallEffectKind")
                pure = effect is not None and int(effect) <= 1
                if pure or OPAQUE_SCALARS.fullmatch(op):
                    found.add(op)
    return found


@pytest.mark.filterwarnings("ignore")  # some members say that they are deprecated
def test_every_scalar_operation_of_the_language_is_known() -> None:
    found = _pure_ops()
    assert len(found) > 50
    known = {name for name in found if is_scalar(name)}
    assert found - known - NO_SCALARS <= UNKNOWN_OPS


#: Each operation once, of `x` (a whole number), `h` (a fraction) and `n` (an int32).
SCALARS = (
    "T.abs(-h)", "T.acos(1 / (h + 1))", "T.acosh(x)", "T.asin(1 / (h + 1))", "T.asinh(h)",
    "T.atan(h)", "T.atan2(h, x)", "T.atanh(1 / (h + 2))", "T.ceil(h)", "T.clamp(h, 0.5, 2.0)",
    "T.copysign(h, -x)", "T.cos(h)", "T.cosh(h)", "T.erf(h)", "T.exp(h)", "T.exp10(h)",
    "T.exp2(h)", "T.floor(h)", "T.fmod(x, 3.0)", "T.hypot(h, x)", "T.isnan(h)",
    "T.isinf(h)", "T.log(h)", "T.log10(h)", "T.log1p(h)", "T.log2(h)", "T.nearbyint(h)",
    "T.nextafter(h, x)", "T.pow(h, x)", "T.round(h)", "T.rsqrt(h)", "T.sigmoid(h)", "T.sin(h)",
    "T.sinh(h)", "T.sqrt(h)", "T.tan(h)", "T.tanh(h)", "T.trunc(-h)", "T.__exp(h)",
    "T.__log(h)", "T.ieee_add(h, x)", "T.ieee_sub(h, x)", "T.ieee_mul(h, x)", "T.ieee_fdiv(x, h)",
    "T.ieee_fmaf(h, x, h)", "T.ieee_frcp(h)", "T.ieee_frsqrt(h)", "T.ieee_fsqrt(h)",
    "T.popcount(T.cast(n, 'uint32'))", "~n", "n & 5", "n | 5", "n ^ 5", "n << 3", "n >> 1",
    "T.if_then_else(n > 3, h, x)", "T.Select(n > 3, h, x)", "T.max(h, 1.5)", "T.min(h, 1.5)",
    "T.reinterpret(T.reinterpret(h, 'int32') + 1, 'float32')",
    "T.call_pure_extern('float32', 'fabsf', -h)",
)  # fmt: skip


def test_every_scalar_operation_is_counted_as_it_is_run(tmp_path: Path) -> None:
    stores = "\n".join(
        f"            out[{row}, i] = T.cast({text}, 'float32')" for row, text in enumerate(SCALARS)
    )
    path = tmp_path / "scalars.py"
    path.write_text(f"""
import tilelang.language as T


@T.prim_func
def main(X: T.Tensor((64,), "float32"), out: T.Tensor(({len(SCALARS)}, 64), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            x = X[i]
            h = X[i] * 0.3
            n = T.cast(X[i], "int32")
{stores}
""")
    counted, ran, _ = _both(_built(path, "main", ()))
    for variant, wanted in counted.outputs.items():
        for text, left, right in zip(
            SCALARS, ran.outputs[variant]["out"], wanted["out"], strict=True
        ):
            assert np.allclose(left, right, rtol=1e-6, atol=0, equal_nan=True), (variant, text)


def test_an_unknown_operation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "unknown.py"
    path.write_text(_kernel("        out[0] = T.call_pure_extern('float32', 'mine', total[0])"))
    built = _built(path, "main", ())
    with pytest.raises(Trouble, match="the operation call_pure_extern of mine"):
        count(built, parameters(built.prim_func, {}), REQUEST)
