"""Epochs around pipelined loops that warp specialization gives to producers and consumers."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def epoch_before() -> Any:
    """A whole epoch before the pipeline, its result a factor in it."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 4, 64), "float32"),
        C: T.Tensor((64,), "float32"),
        B: T.Tensor((5,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((4, 64), "float32")
            top = T.alloc_reducer((1,), "float32", op="max")
            top_r = T.alloc_fragment((1,), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(top)
            for j in T.Parallel(64):
                T.reducer_update(top[0], C[j])
            T.finalize_reducer(top, top_r)
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:4, 0:64], tile)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], tile[i, j] * top_r[0])
            T.finalize_reducer(acc, result)
            T.copy(result, B[0:4])
            for i in T.Parallel(1):
                B[4] = top_r[i]

    return kernel


def updates_around() -> Any:
    """One epoch with contributions before, in and after the pipeline."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 4, 64), "float32"),
        C: T.Tensor((4, 64), "float32"),
        B: T.Tensor((4,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((4, 64), "float32")
            early = T.alloc_fragment((4, 64), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.copy(C, early)
            T.reducer_init(acc)
            for i, j in T.Parallel(4, 64):
                T.reducer_update(acc[i], early[i, j])
            for i, j in T.Parallel(4, 64):
                T.reducer_update(acc[i], C[i, j] * 2)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:4, 0:64], tile)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], tile[i, j])
            for i, j in T.Parallel(4, 64):
                T.reducer_update(acc[i], C[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def two_pipelines() -> Any:
    """The second pipeline reads what the first one reduced."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 4, 64), "float32"), B: T.Tensor((2, 4), "float32")):
        with T.Kernel(1, threads=128):
            first = T.alloc_shared((4, 64), "float32")
            second = T.alloc_shared((4, 64), "float32")
            top = T.alloc_reducer((4,), "float32", op="max")
            top_r = T.alloc_fragment((4,), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(top)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:4, 0:64], first)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(top[i], first[i, j])
            T.finalize_reducer(top, top_r)
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:4, 0:64], second)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], second[i, j] - top_r[i])
            T.finalize_reducer(acc, result)
            T.copy(top_r, B[0, :])
            T.copy(result, B[1, :])

    return kernel


def two_dtypes() -> Any:
    """Two reducers of different width, one closed right after the other."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 256), "float32"), B: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=64):
            double = T.alloc_reducer((2,), "float64", op="max")
            double_r = T.alloc_fragment((2,), "float64")
            single = T.alloc_reducer((1,), "float32", op="max")
            single_r = T.alloc_fragment((1,), "float32")
            T.reducer_init(double)
            T.reducer_init(single)
            for i, j in T.Parallel(2, 256):
                T.reducer_update(double[i], T.cast(A[i, j], "float64"))
                T.reducer_update(single[0], A[i, j])
            T.finalize_reducer(double, double_r)
            T.finalize_reducer(single, single_r)
            for i in T.Parallel(2):
                B[i] = T.cast(double_r[i], "float32")
            for i in T.Parallel(1):
                B[2] = single_r[i]

    return kernel


def _scaled(a: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.concatenate([a.sum((0, 2)) * c.max(), [c.max()]])


def _shifted(a: np.ndarray) -> np.ndarray:
    top = a.max((0, 2))
    return np.stack([top, (a - top[None, :, None]).sum((0, 2))])


def tile_in_a_fragment() -> Any:
    """The pipeline copies one tile to a fragment and one to shared memory."""

    @T.prim_func
    def kernel(
        A: T.Tensor((2, 4, 64), "float32"),
        C: T.Tensor((2, 4, 64), "float32"),
        B: T.Tensor((4,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((4, 64), "float32")
            c = T.alloc_shared((4, 64), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[k, 0:4, 0:64], a)
                T.copy(C[k, 0:4, 0:64], c)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], a[i, j] - c[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def cases() -> list[Case]:
    item = "full CTA, offset consumer range"
    return [
        Case(
            "epoch_before_a_pipeline",
            item,
            epoch_before,
            integers((4, 4, 64), (64,)),
            _scaled,
            ((5,), "float32"),
        ),
        Case(
            "updates_around_a_pipeline",
            item,
            updates_around,
            integers((4, 4, 64), (4, 64)),
            lambda a, c: a.sum((0, 2)) + 4 * c.sum(1),
            ((4,), "float32"),
        ),
        Case(
            "two_pipelines",
            item,
            two_pipelines,
            integers((4, 4, 64)),
            _shifted,
            ((2, 4), "float32"),
        ),
        Case(
            "tile_in_a_fragment",
            item,
            tile_in_a_fragment,
            integers((2, 4, 64), (2, 4, 64)),
            lambda a, c: (a - c).sum((0, 2)),
            ((4,), "float32"),
        ),
        Case(
            "exchanges_of_two_dtypes",
            "several reducers in one kernel",
            two_dtypes,
            integers((2, 256)),
            lambda a: np.concatenate([a.max(1), [a.max()]]),
            ((3,), "float32"),
        ),
    ]
