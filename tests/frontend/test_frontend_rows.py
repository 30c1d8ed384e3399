"""Which updates read one value for each row of a tile, and which tiles have a known layout."""

from __future__ import annotations

import pytest
from frontend_cases import kernel, unit

from reducer_rules.timeline import RowValues

HEAD = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((32, 64), "float16"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
"""
TILE = """\
tile = T.alloc_fragment((32, 64), "float16")
top = T.alloc_fragment((32,), "float16")
T.copy(A, tile)
"""
REDUCE = "T.reduce_max(tile, top, dim=1)\n"
UPDATE = "for i in T.Parallel(32):\n    acc[0] += top[i]\n"


def values(body: str) -> list[RowValues | None]:
    """What each update of the last reducer in `body` reads."""
    acc = 'acc = T.alloc_reducer((1,), "float32", replication="all")\nT.clear(acc)\n'
    body = body.replace("ACC", acc)
    return [u.row_values for u in unit(kernel(body, HEAD)).reducers[-1].timeline.updates]


TOP = RowValues("top", 32, 64, 16)


@pytest.mark.parametrize(
    "reduce",
    [
        "T.reduce_max(tile, top, dim=1)",
        "T.reduce_sum(tile, top)",
        "T.reduce_absmax(tile, top, dim=-1, clear=True)",
        "T.reduce_min(buffer=tile, out=top, dim=1)",
    ],
)
def test_what_a_reduction_leaves(reduce: str) -> None:
    assert values(f"{TILE}{reduce}\nACC{UPDATE}") == [TOP]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dim=1", "dim=0"),
        ("dim=1", "dim=axis"),
        ("T.copy(A, tile)", "T.copy(other, tile)"),
        ("T.copy(A, tile)", "T.clear(tile)"),
        ("T.copy(A, tile)", "T.copy(A, tile)\nT.gemm(A, B, tile)"),
        ("(32, 64)", "(32, n)"),
        ("top[i]", "top[i] * held[i]"),
        ("top[i]", "top[0]"),
        ("top[i]", "mystery[i]"),
        ("acc[0]", "acc[i]"),
        ("for i in T.Parallel(32)", "for i, j in T.Parallel(32, 8)"),
    ],
)
def test_what_has_another_layout_or_is_not_combined(old: str, new: str) -> None:
    body = 'held = T.alloc_fragment((32,), "float16")\n' + TILE + REDUCE + "ACC" + UPDATE

    assert values(body) == [TOP]
    assert values(body.replace(old, new)) == [None]


def test_single_elements_and_memory_beside_it_change_nothing() -> None:
    one = 'one = T.alloc_fragment((1,), "float32")\n'
    update = UPDATE.replace("top[i]", "top[i] * one[0] * A[i, 0]")

    assert values(one + TILE + REDUCE + "ACC" + update) == [TOP]


V1_SUMS = """\
sums = T.alloc_reducer((32,), "float32", replication="all")
T.clear(sums)
for i, j in T.Parallel(32, 64):
    sums[i] += tile[i, j]
T.finalize_reducer(sums)
"""
V2_SUMS = """\
sums = T.alloc_reducer((32,), "float32")
total = T.alloc_fragment((32,), "float32")
T.reducer_init(sums)
for i, j in T.Parallel(32, 64):
    T.reducer_update(sums[i], tile[i, j])
T.finalize_reducer(sums, total)
"""


@pytest.mark.parametrize(("sums", "name"), [(V1_SUMS, "sums"), (V2_SUMS, "total")])
def test_the_result_of_a_reducer_over_rows(sums: str, name: str) -> None:
    body = TILE + sums + "ACC" + UPDATE.replace("top", name)

    assert values(body) == [RowValues(name, 32, 64, 16, reducer=True)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sums[i] += tile[i, j]", "sums[j] += tile[i, j]"),
        ("sums[i] += tile[i, j]", "sums[i] += tile[j, i]"),
        ("sums[i] += tile[i, j]", "sums[i] += A[i, j]"),
        ("T.Parallel(32, 64)", "T.Parallel(32, 32)"),
        ("T.finalize", "for i in T.Parallel(32):\n    sums[i] += 1\nT.finalize"),
    ],
)
def test_a_reducer_over_something_else(old: str, new: str) -> None:
    sums = V1_SUMS.replace(old, new)

    assert values(TILE + sums + "ACC" + UPDATE.replace("top", "sums")) == [None]
