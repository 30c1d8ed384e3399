"""Sizes that are known at launch alone: only tiles are static."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def tiles(stages: int = 2, dtype: str = "float32", rows: int | None = None) -> Any:
    """Row sums in tiles, with ragged edges along both axes.

    With a number of `rows` the columns alone are symbolic, which TileLang simplifies in a third of
    the time.
    """
    rows, columns = T.dynamic("rows") if rows is None else rows, T.dynamic("columns")

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), dtype), B: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, 8), threads=64) as bx:
            tile = T.alloc_shared((8, 32), dtype)
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(columns, 32), num_stages=stages):
                T.copy(A[bx * 8, k * 32], tile)
                for i, j in T.Parallel(8, 32):
                    T.reducer_update(acc[i], T.cast(tile[i, j], "float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, B[bx * 8])

    return kernel


def gemv(dtype: str) -> Any:
    """A matrix by a vector of symbolic length: nobody knows which of its elements lie side by side
    within 4 bytes."""
    rows, columns = T.dynamic("rows"), T.dynamic("columns")
    total = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, columns), dtype),
        x: T.Tensor((columns,), dtype),
        B: T.Tensor((rows,), total),
    ):
        with T.Kernel(T.ceildiv(rows, 4), threads=64) as bx:
            tile, part = T.alloc_shared((4, 64), dtype), T.alloc_shared((64,), dtype)
            acc = T.alloc_reducer((4,), total)
            result = T.alloc_fragment((4,), total)
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(columns, 64), num_stages=2):
                T.copy(A[bx * 4, k * 64], tile)
                T.copy(x[k * 64], part)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], T.cast(tile[i, j], total) * T.cast(part[j], total))
            T.finalize_reducer(acc, result)
            T.copy(result, B[bx * 4])

    return kernel


def no_whole_warps() -> Any:
    """Row sums by 48 threads, which producers of a warp-specialized pipeline may stand beside."""
    rows, columns = T.dynamic("rows"), T.dynamic("columns")

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), "float16"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, 6), threads=48) as bx:
            tile = T.alloc_shared((6, 64), "float16")
            acc = T.alloc_reducer((6,), "float32")
            result = T.alloc_fragment((6,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(columns, 64), num_stages=2):
                T.copy(A[bx * 6, k * 64], tile)
                for i, j in T.Parallel(6, 64):
                    T.reducer_update(acc[i], T.cast(tile[i, j], "float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, B[bx * 6])

    return kernel


def fragment_rows() -> Any:
    """Tiles of fragments; the last one is ragged."""
    rows = T.dynamic("rows")

    @T.prim_func
    def kernel(A: T.Tensor((rows, 64), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, 4), threads=64) as bx:
            tile = T.alloc_fragment((4, 64), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.copy(A[bx * 4, 0], tile)
            T.reducer_init(acc)
            for i, j in T.Parallel(4, 64):
                T.reducer_update(acc[i], tile[i, j] * tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B[bx * 4])

    return kernel


def parallel_columns() -> Any:
    """A `T.Parallel` loop whose inner extent is symbolic."""
    columns = T.dynamic("columns")

    @T.prim_func
    def kernel(A: T.Tensor((8, columns), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), "float32", op="max")
            result = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, columns):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def histogram() -> Any:
    """A symbolic number of contributions, each to an output that the data names."""
    count = T.dynamic("count")

    @T.prim_func
    def kernel(A: T.Tensor((count,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=96):
            acc = T.alloc_reducer((8,), "int32")
            result = T.alloc_fragment((8,), "int32")
            T.reducer_init(acc)
            for i in T.Parallel(count):
                T.reducer_update(acc[A[i]], 1)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def predicated() -> Any:
    """v1, with a predicate on the size."""
    count = T.dynamic("count")

    @T.prim_func
    def kernel(A: T.Tensor((count,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for k in T.serial(T.ceildiv(count, 32)):
                for i in T.Parallel(32):
                    if k * 32 + i < count:
                        acc[0] += A[k * 32 + i]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def lengths() -> Any:
    """Rows of lengths that a tensor holds, in a pipeline as long as each."""
    rows = T.dynamic("rows")

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 520), "float16"),
        L: T.Tensor((rows,), "int32"),
        B: T.Tensor((rows,), "float32"),
    ):
        with T.Kernel(rows, threads=64) as bx:
            tile = T.alloc_shared((128,), "float16")
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(L[bx], 128), num_stages=2):
                T.copy(A[bx, k * 128 : k * 128 + 128], tile)
                for j in T.Parallel(128):
                    if k * 128 + j < L[bx]:
                        T.reducer_update(acc[0], T.cast(tile[j], "float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, B[bx : bx + 1])

    return kernel


def sequences() -> Any:
    """Column sums of sequences that lie one after the other; a tensor says where each starts."""
    rows = T.dynamic("rows")

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 32), "float16"),
        starting: T.Tensor((5,), "int32"),
        B: T.Tensor((4, 32), "float32"),
    ):
        with T.Kernel(4, threads=64) as bx:
            tile = T.alloc_shared((16, 32), "float16")
            acc = T.alloc_reducer((32,), "float32")
            result = T.alloc_fragment((32,), "float32")
            first = starting[bx]
            end = T.min(starting[bx + 1], rows)
            T.reducer_init(acc)
            for k in T.Pipelined(T.ceildiv(end - first, 16), num_stages=3):
                T.copy(A[first + k * 16 : first + k * 16 + 16, 0:32], tile)
                for i, j in T.Parallel(16, 32):
                    if first + k * 16 + i < end:
                        T.reducer_update(acc[j], T.cast(tile[i, j], "float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, B[bx, 0:32])

    return kernel


def _with_lengths(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """One row is shorter than the stages of the pipeline, one is empty, and one is whole."""
    rows = rng.integers(-4, 5, (4, 520)).astype(np.float16)
    return rows, np.array([17, 0, 520, 257], np.int32)


def _with_starts(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    rows = rng.integers(-4, 5, (100, 32)).astype(np.float16)
    return rows, np.array([0, 5, 5, 83, 100], np.int32)


def _sequence_sums(a: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.stack([a[first:end].sum(0) for first, end in pairwise(starts)])


def cases() -> list[Case]:
    item = "sizes that are known at launch"
    return [
        Case(
            "symbolic_tiles",
            item,
            tiles,
            integers((21, 100)),
            lambda a: a.sum(1),
            ((21,), "float32"),
        ),
        Case(
            "symbolic_tiles_float16",
            item,
            lambda: tiles(3, "float16"),
            integers((21, 104), dtype="float16"),
            lambda a: a.sum(1),
            ((21,), "float32"),
        ),
        Case(
            "symbolic_shorter_than_its_stages",
            item,
            lambda: tiles(3, "float16", rows=21),
            integers((21, 24), dtype="float16"),
            lambda a: a.sum(1),
            ((21,), "float32"),
        ),
        *(
            Case(
                f"symbolic_gemv_{dtype}",
                item,
                lambda dtype=dtype: gemv(dtype),
                integers((13, 208), (208,), dtype=dtype),
                lambda a, x: a.astype(np.float64) @ x.astype(np.float64),
                ((13,), "int32" if dtype == "int8" else "float32"),
            )
            for dtype in ("float16", "int8")
        ),
        Case(
            "symbolic_no_whole_warps",
            item,
            no_whole_warps,
            integers((13, 104), dtype="float16"),
            lambda a: a.sum(1),
            ((13,), "float32"),
        ),
        Case(
            "symbolic_fragment_rows",
            item,
            fragment_rows,
            integers((22, 64)),
            lambda a: (a * a).sum(1),
            ((22,), "float32"),
        ),
        Case(
            "symbolic_parallel_columns",
            item,
            parallel_columns,
            integers((8, 77), low=-99, high=99),
            lambda a: a.max(1),
            ((8,), "float32"),
        ),
        Case(
            "symbolic_histogram",
            item,
            histogram,
            integers((133,), low=0, high=8, dtype="int32"),
            lambda a: np.bincount(a, minlength=8),
            ((8,), "int32"),
        ),
        Case(
            "symbolic_predicate",
            item,
            predicated,
            integers((77,)),
            lambda a: a.sum(keepdims=True),
            ((1,), "float32"),
        ),
        Case(
            "symbolic_lengths",
            item,
            lengths,
            _with_lengths,
            lambda a, of: np.array([row[:n].sum() for row, n in zip(a, of, strict=True)]),
            ((4,), "float32"),
        ),
        Case(
            "symbolic_sequences",
            item,
            sequences,
            _with_starts,
            _sequence_sums,
            ((4, 32), "float32"),
        ),
    ]
