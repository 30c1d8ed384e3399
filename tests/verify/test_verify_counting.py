"""What the source adds up to equals what correct lowering computes, on every golden kernel."""

from __future__ import annotations

import inspect
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

import tilelang

import reducer_compat
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
