"""Several sites, several reducers, and what a site may look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def two_widths() -> Any:
    @T.prim_func
    def kernel(
        A: T.Tensor((4, 8), "float32"),
        C: T.Tensor((4, 16), "float32"),
        B: T.Tensor((4,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((4,), "float32", op="sum", replication="all")
            narrow = T.alloc_fragment((4, 8), "float32")
            broad = T.alloc_fragment((4, 16), "float32")
            T.copy(A, narrow)
            T.copy(C, broad)
            T.clear(acc)
            for i, j in T.Parallel(4, 8):
                acc[i] += narrow[i, j]
            for i, j in T.Parallel(4, 16):
                acc[i] += broad[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def equal_widths() -> Any:
    @T.prim_func
    def kernel(
        A: T.Tensor((8, 32), "float32"),
        C: T.Tensor((8, 32), "float32"),
        B: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 32):
                T.reducer_update(acc[i], A[i, j])
            for i, j in T.Parallel(8, 32):
                T.reducer_update(acc[i], C[i, j] * 2)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def several_reducers() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((4, 40), "float32"), B: T.Tensor((3, 4), "float32")):
        with T.Kernel(1, threads=64):
            total = T.alloc_reducer((4,), "float32", op="sum")
            top = T.alloc_reducer((4,), "float32", op="max")
            low = T.alloc_reducer((4,), "float32", op="min")
            total_r = T.alloc_fragment((4,), "float32")
            top_r = T.alloc_fragment((4,), "float32")
            low_r = T.alloc_fragment((4,), "float32")
            T.reducer_init(total)
            T.reducer_init(top)
            T.reducer_init(low)
            for i, j in T.Parallel(4, 40):
                T.reducer_update(total[i], A[i, j])
                T.reducer_update(top[i], A[i, j])
                T.reducer_update(low[i], A[i, j])
            T.finalize_reducer(total, total_r)
            T.finalize_reducer(top, top_r)
            T.finalize_reducer(low, low_r)
            T.copy(total_r, B[0, :])
            T.copy(top_r, B[1, :])
            T.copy(low_r, B[2, :])

    return kernel


def columns_and_computed_index() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((12, 10), "float32"), B: T.Tensor((10,), "float32")):
        with T.Kernel(1, threads=96):
            columns = T.alloc_reducer((8,), "float32")
            halves = T.alloc_reducer((2,), "float32")
            columns_r = T.alloc_fragment((8,), "float32")
            halves_r = T.alloc_fragment((2,), "float32")
            T.reducer_init(columns)
            T.reducer_init(halves)
            for i, j in T.Parallel(12, 10):
                if j < 8:
                    T.reducer_update(columns[j], A[i, j])
                T.reducer_update(halves[T.min(1, j // 5)], A[i, j])
            T.finalize_reducer(columns, columns_r)
            T.finalize_reducer(halves, halves_r)
            T.copy(columns_r, B[0:8])
            for i in T.Parallel(2):
                B[8 + i] = halves_r[i]

    return kernel


def softmax_like() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((256,), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128):
            top = T.alloc_reducer((1,), "float32", op="max", replication="all")
            total = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.fill(top, -T.infinity("float32"))
            T.clear(total)
            for i in T.Parallel(256):
                top[0] = T.max(top[0], A[i])
            T.finalize_reducer(top)
            for i in T.Parallel(256):
                total[0] += A[i] - top[0]
            T.finalize_reducer(total)
            for i in T.Parallel(1):
                B[0] = top[i]
                B[1] = total[i]

    return kernel


def vectorized_updates() -> Any:
    """The lanes of a vectorized loop contribute to one output."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 16):
                for v in T.vectorized(4):
                    T.reducer_update(acc[i], A[i, j * 4 + v])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def cases() -> list[Case]:
    return [
        Case(
            "vectorized_updates",
            "updates in serial loops inside and outside the parallel one",
            vectorized_updates,
            integers((8, 64)),
            lambda a: a.sum(1),
            ((8,), "float32"),
        ),
        Case(
            "two_widths",
            "two sites of widths 8 and 16",
            two_widths,
            integers((4, 8), (4, 16)),
            lambda a, c: a.sum(1) + c.sum(1),
            ((4,), "float32"),
        ),
        Case(
            "equal_widths",
            "compatible sites",
            equal_widths,
            integers((8, 32), (8, 32)),
            lambda a, c: a.sum(1) + 2 * c.sum(1),
            ((8,), "float32"),
        ),
        Case(
            "several_reducers",
            "several reducers in one loop",
            several_reducers,
            integers((4, 40)),
            lambda a: np.stack([a.sum(1), a.max(1), a.min(1)]),
            ((3, 4), "float32"),
        ),
        Case(
            "columns_and_computed_index",
            "other output axes, computed indices",
            columns_and_computed_index,
            integers((12, 10)),
            lambda a: np.concatenate([a.sum(0)[:8], [a[:, :5].sum(), a[:, 5:].sum()]]),
            ((10,), "float32"),
        ),
        Case(
            "softmax_like",
            "a contribution that reads another result",
            softmax_like,
            integers((256,)),
            lambda a: np.array([a.max(), (a - a.max()).sum()]),
            ((2,), "float32"),
        ),
    ]
