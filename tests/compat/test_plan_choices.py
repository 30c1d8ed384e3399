"""What the runtime says of the plans it chose."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T

import reducer_compat
from benchmarks.kernel_bench import shipped
from reducer_compat.choice import PlanChoice, PlanKind
from tests.compat.lowering import source


def chosen(kernel: Any) -> list[PlanChoice]:
    """The plans of the reducers of a kernel that is lowered now."""
    before = len(reducer_compat.status().plans)
    source(kernel)
    found = list(reducer_compat.status().plans)[before:]
    assert found
    return found


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing falls out of the history while a test looks at it."""
    from reducer_compat import choice

    choice._PLANS.clear()
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


def computed(rows: int, dtype: str = "float32", op: str = "sum", threads: int = 128) -> Any:
    @T.prim_func
    def main(X: T.Tensor((rows, 8), dtype), y: T.Tensor((8,), dtype)):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((8,), dtype, op=op)
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, 8):
                T.reducer_update(acc[(i + j) % 8], X[i, j])
            T.finalize_reducer(acc, y)

    return main


def test_rows() -> None:
    (one,) = chosen(shipped.gemv_shared(32, 256, 16, 128, 128, "float16"))
    assert (one.kernel, one.reducer, one.kind) == ("main", "acc", PlanKind.ROWS)
    assert one.partials * 128 == 16 * one.sharers
    assert one.reason == ""


def test_layouts() -> None:
    found = chosen(shipped.softmax_statistics(128, 128, 64, 128, "float16"))
    assert [one.reducer for one in found] == ["top", "mass"]
    for one in found:
        assert one.kind is PlanKind.LAYOUT
        assert (one.partials, one.sharers) == (8, 16)


def test_a_computed_index_is_why() -> None:
    (one,) = chosen(computed(32))
    assert one.kind is PlanKind.WIDE
    assert (one.partials, one.sharers) == (8, 128)
    assert "test_plan_choices.py:" in one.reason
    assert "something else than the loops around it" in one.reason
    assert str(one).startswith("main, acc: wide (partials in a thread: 8, ")


def test_who_asked_is_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", "wide")
    (one,) = chosen(shipped.gemv_shared(32, 256, 16, 128, 128, "float16"))
    assert one.kind is PlanKind.WIDE
    assert one.reason == "REDUCER_COMPAT_PLAN is wide"


def fragments(threads: int, op: str = "sum", dtype: str = "float32") -> Any:
    """Two loops over a fragment whose layout is TileLang's to choose."""

    @T.prim_func
    def main(X: T.Tensor((threads, 16), dtype), y: T.Tensor((threads,), dtype)):
        with T.Kernel(1, threads=threads):
            x = T.alloc_fragment((threads, 16), dtype)
            acc = T.alloc_reducer((threads,), dtype, op=op)
            result = T.alloc_fragment((threads,), dtype)
            T.copy(X, x)
            T.reducer_init(acc)
            for i, j in T.Parallel(threads, 16):
                T.reducer_update(acc[i], x[i, j])
            for i, j in T.Parallel(threads, 16):
                T.reducer_update(acc[i], x[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (fragments(96), "96 threads are no power of two"),
        (fragments(64, "prod"), "lanes do not exchange a prod of float32"),
    ],
)
def test_why_a_layout_does_not_narrow(kernel: Any, why: str) -> None:
    (one,) = chosen(kernel)
    assert one.kind is PlanKind.WIDE
    assert why in one.reason
