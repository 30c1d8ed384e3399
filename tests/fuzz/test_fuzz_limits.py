"""What random kernels showed of TileLang itself: wrong numbers that no reducer runtime mends.

Each test holds the reproducer. It fails when a release no longer shows the fault, and then the
generator, `known` or the documentation can say less.
"""

# ruff: noqa: N803, N812 -- TileLang code names tensors and the language in upper case

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tilelang") is None:
    pytest.skip("tilelang is not installed", allow_module_level=True)

import tilelang
import tilelang.language as T

import reducer_compat
from reducer_compat import simt
from reducer_rules.release import NATIVE_V2, Release
from tests.fuzz.worker import _without_shim

RELEASE = Release.parse(str(tilelang.__version__).split("+")[0])
needs_native = pytest.mark.skipif(RELEASE < NATIVE_V2, reason="this TileLang has no v2 reducers")


@contextmanager
def tilelang_alone() -> Iterator[None]:
    """The language and the passes without the runtime."""
    reducer_compat.uninstall()
    try:
        with _without_shim():
            yield
    finally:
        reducer_compat.install()


# -- indices ----------------------------------------------------------------------------------


def rotated() -> Any:
    """Rows moved down by their column: no reducer anywhere."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 2), "int32"), B: T.Tensor((4, 2), "int32")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(4, 2):
                B[(i + j) % 4, j] = A[i, j]

    return kernel


def test_a_sum_of_axes_beside_one_of_them_is_simplified_wrongly() -> None:
    """TVM makes `(x + 1) % 8` of `((x // 2 + x % 2) % 4) * 2 + x % 2`, on every release."""
    given = np.arange(8, dtype=np.int32).reshape(4, 2)
    with tilelang_alone():
        got = simt.run(rotated(), given)
    wanted = np.stack([given[:, 0], np.roll(given[:, 1], 1)], axis=1)
    assert sorted(got.reshape(-1).tolist()) == sorted(wanted.reshape(-1).tolist())
    assert got.tolist() != wanted.tolist()


def either(arm: str) -> Any:
    """Stores in two arms of a branch, one of them for the first turn only: no reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, threads=32):
            T.clear(B)
            for t in T.serial(2):
                for i in T.Parallel(64):
                    if A[i] > 0:
                        if t == 0:
                            B[t, i] = 1
                    elif arm == "other":
                        B[t, i] = 2

    return kernel


def test_a_condition_is_hoisted_out_of_one_arm_and_the_other_is_lost() -> None:
    """TVM's HoistIfThenElse takes `t == 0` out of the loop with all of its body."""
    given = np.where(np.arange(64) % 3 == 0, 1, -1).astype(np.float32)
    with tilelang_alone():
        got = simt.run(either("other"), given)
        alone = simt.run(either("none"), given)
    assert got[0].tolist() == np.where(given > 0, 1, 2).tolist()
    assert got[1].tolist() == [0] * 64  # where A is not positive, 2 was to be stored
    assert alone.tolist() == [(given > 0).tolist(), [0] * 64]


# -- native reducers --------------------------------------------------------------------------


def tile_sums(rows: int, columns: int, route: str) -> Any:
    """Sums of the rows of a tile on 128 threads."""

    @T.prim_func
    def of_fragment(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((rows, columns), "float32")
            acc = T.alloc_reducer((rows,), "float32")
            result = T.alloc_fragment((rows,), "float32")
            T.copy(A, tile)
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, columns):
                T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    @T.prim_func
    def of_memory(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((rows,), "float32")
            result = T.alloc_fragment((rows,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, columns):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return {"fragment": of_fragment, "memory": of_memory}[route]


def _sums(rows: int, columns: int, route: str) -> list[float]:
    kernel = tile_sums(rows, columns, route)
    given = np.ones((rows, columns), np.float32)
    return [float(value) for value in simt.run(kernel, given)]


@needs_native
@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 8), (8, 2), (8, 8)])
def test_native_counts_one_contribution_of_a_small_fragment_tile(rows: int, columns: int) -> None:
    """The collective is missing where the tile is smaller than the block and divides it."""
    with tilelang_alone():
        assert _sums(rows, columns, "fragment") == [1.0] * rows
        assert _sums(rows, columns, "memory") == [float(columns)] * rows


@needs_native
@pytest.mark.parametrize(("rows", "columns"), [(2, 64), (4, 64), (2, 24), (1, 8)])
def test_native_is_right_on_other_fragment_tiles(rows: int, columns: int) -> None:
    with tilelang_alone():
        assert _sums(rows, columns, "fragment") == [float(columns)] * rows


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 8), (8, 2), (8, 8), (2, 64), (1, 8)])
def test_ours_counts_every_contribution_of_a_small_fragment_tile(rows: int, columns: int) -> None:
    assert _sums(rows, columns, "fragment") == [float(columns)] * rows


def two_indices(rows: int, columns: int) -> Any:
    """Two sites of one loop: one that numbers the outputs by axes, and one that does not."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns, 4), "float32"), B: T.Tensor((rows, columns), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((rows, columns), "float32")
            result = T.alloc_fragment((rows, columns), "float32")
            T.reducer_init(acc)
            for i, j, k in T.Parallel(rows, columns, 4):
                T.reducer_update(acc[j, 0], A[0, j, k])
                T.reducer_update(acc[i, j], A[i, j, k])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _of_two_indices(rows: int, columns: int) -> tuple[list[list[float]], list[list[float]]]:
    """What comes out for ones, and what should."""
    wanted = np.full((rows, columns), 4.0)
    wanted[:columns, 0] += rows * 4
    got = simt.run(two_indices(rows, columns), np.ones((rows, columns, 4), np.float32))
    return got.tolist(), wanted.tolist()


@needs_native
def test_native_is_wrong_where_sites_differ_and_outputs_are_too_many_for_its_baseline() -> None:
    """With 128 outputs the sites fall back to a partial for each thread, which 384 are too many
    for: instead of the error, the plan of one site is taken for both."""
    with tilelang_alone():
        got, wanted = _of_two_indices(32, 12)
        assert got != wanted
        assert [got[0][0], wanted[0][0], got[0][1], wanted[0][1]] == [16, 132, 16, 4]
        got, wanted = _of_two_indices(16, 8)
        assert got == wanted


@pytest.mark.parametrize(("rows", "columns"), [(32, 12), (16, 8)])
def test_ours_is_right_where_sites_differ(rows: int, columns: int) -> None:
    got, wanted = _of_two_indices(rows, columns)
    assert got == wanted


# -- warp specialization ----------------------------------------------------------------------


def doubled(stages: int) -> Any:
    """A tile on a pipelined way through shared memory to a fragment, and out: no reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 8, 12), "float32"), B: T.Tensor((8, 12), "float32")):
        with T.Kernel(1, threads=32):
            shared = T.alloc_shared((8, 12), "float32")
            tile = T.alloc_fragment((8, 12), "float32")
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(A[k, 0:8, 0:12], shared)
                T.copy(shared, tile)
                for i, j in T.Parallel(8, 12):
                    B[i, j] = tile[i, j] * 2

    return kernel


def test_registers_of_a_warp_specialized_tile_are_counted_from_the_producers() -> None:
    """From 0.1.11 on element -1 of a fragment of 96 elements on 32 threads is touched."""
    given = np.ones((2, 8, 12), np.float32)
    with tilelang_alone():
        report = simt.execute(doubled(2), given, target="sm_90").report
        assert simt.execute(doubled(2), given, target="sm_75").report.ok
    assert bool(report.of("out-of-bounds")) == (Release.parse("0.1.11") <= RELEASE), str(report)


def repeated() -> Any:
    """A contiguous tile that is copied anew in each turn of a pipeline: no reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((2048,), "float32"), B: T.Tensor((2048,), "float32")):
        with T.Kernel(1, threads=128):
            shared = T.alloc_shared((2048,), "float32")
            for _ in T.Pipelined(3, num_stages=1):
                T.copy(A[0:2048], shared)
                for i in T.Parallel(2048):
                    B[i] = shared[i]

    return kernel


def test_consumers_wait_for_ever_for_a_contiguous_tile() -> None:
    """From 0.1.9 to 0.1.12 nothing arrives at the barrier of a warp-specialized bulk copy."""
    given = np.ones(2048, np.float32)
    with tilelang_alone():
        report = simt.execute(repeated(), given, target="sm_90").report
        assert simt.execute(repeated(), given, target="sm_75").report.ok
    stuck = Release.parse("0.1.9") <= RELEASE <= Release.parse("0.1.12")
    assert bool(report.of("divergent-barrier")) == stuck, str(report)


def staged(rows: int, columns: int, stages: int, dtype: str) -> Any:
    """Tiles of one row after another of `A`, copied by a pipeline: no reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((4 * rows, columns), dtype), B: T.Tensor((4 * rows, columns), dtype)):
        with T.Kernel(1, threads=128):
            shared = T.alloc_shared((rows, columns), dtype)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k * rows, 0], shared)
                for i, j in T.Parallel(rows, columns):
                    B[k * rows + i, j] = shared[i, j]

    return kernel


def copied(kernel: Any, shape: tuple[int, int], dtype: str, target: str) -> bool:
    """Whether a kernel of `staged` copies."""
    given = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    with tilelang_alone():
        return bool(np.array_equal(simt.execute(kernel, given, target=target).outputs[-1], given))


@pytest.mark.skipif(
    Release.parse("0.1.12") <= RELEASE <= Release.parse("0.1.13"),
    reason="this TileLang refuses the tile",
)
@pytest.mark.parametrize("stages", [2, 3])
def test_stages_of_a_tile_with_long_rows_are_read_in_another_order(stages: int) -> None:
    """From 0.1.9 to 0.1.11 TMA copies rows of more than 256 elements in boxes, stage by stage."""
    mixed = Release.parse("0.1.9") <= RELEASE <= Release.parse("0.1.11")
    kernel = staged(1, 2048, stages, "float32")
    assert copied(kernel, (4, 2048), "float32", "sm_90") != mixed


@pytest.mark.parametrize("stages", [2, 3])
def test_the_last_copies_of_three_stages_are_not_waited_for(stages: int) -> None:
    """On 0.1.9 the last tile is read before it is there."""
    late = Release.parse("0.1.9") == RELEASE and stages == 3
    kernel = staged(16, 128, stages, "float16")
    assert copied(kernel, (64, 128), "float16", "sm_80") != late


# -- shared memory ----------------------------------------------------------------------------


def reused(width: str) -> Any:
    """Two tiles that live one after the other, the first of bytes: no reducer."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16, 4), "uint8"),
        B: T.Tensor((1,), width),
        C: T.Tensor((2,), "uint8"),
        D: T.Tensor((1,), width),
    ):
        with T.Kernel(1, threads=32):
            first = T.alloc_shared((16, 4), "uint8")
            second = T.alloc_shared((1,), width)
            thread = T.get_thread_binding()
            T.copy(A, first)
            if thread < 2:
                C[thread] = first[0, thread]
            T.copy(B, second)
            for i in T.Parallel(1):
                D[i] = second[i]

    return kernel


@pytest.mark.parametrize(("width", "raced"), [("float32", True), ("uint8", False)])
def test_tiles_of_different_dtypes_share_memory_without_a_barrier(width: str, raced: bool) -> None:
    """TileLang compares the elements, not the bytes, that threads touch: element 0 is 0 of both."""
    given = np.ones((16, 4), np.uint8), np.ones(1, width)
    with tilelang_alone():
        report = simt.execute(reused(width), *given, out_idx=[2, 3]).report
    assert bool(report.of("race")) == raced, str(report)
