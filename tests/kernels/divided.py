"""Epochs that a pipeline or warp specialization would divide, so that they are lowered without."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def loop_around_a_pipeline() -> Any:
    """One epoch over a pipelined loop that another loop repeats."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 4, 4, 32), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((4, 32), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(acc, 3)
            for k in T.serial(3):
                for m in T.Pipelined(4, num_stages=2):
                    T.copy(A[k, m, 0:4, 0:32], tile)
                    for i, j in T.Parallel(4, 32):
                        T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def epoch_with_a_loop_in_a_pipeline() -> Any:
    """A whole epoch in each turn of a pipelined loop, over a loop of its own that copies, too."""

    @T.prim_func
    def kernel(
        A: T.Tensor((5, 3, 32), "float32"),
        C: T.Tensor((5, 3, 32), "float32"),
        B: T.Tensor((5, 1), "float32"),
    ):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32,), "float32")
            held = T.alloc_fragment((32,), "float32")
            acc = T.alloc_reducer([1], "float32", op="min", replication="all")
            for t in T.Pipelined(5, num_stages=2):
                T.fill(acc, T.infinity("float32"))
                for k in T.serial(3):
                    T.copy(A[t, k, 0:32], tile)
                    T.copy(C[t, k, 0:32], held)
                    for i in T.Parallel(32):
                        acc[0] = T.min(acc[0], tile[i])
                        acc[0] = T.min(acc[0], held[i])
                T.finalize_reducer(acc)
                T.copy(acc, B[t, 0:1])

    return kernel


def epochs_in_and_over_a_pipeline() -> Any:
    """An epoch in each turn of a pipelined loop, and one over all of them that reads its result."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 4, 32), "float32"), B: T.Tensor((5,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((4, 32), "float32")
            top = T.alloc_reducer((1,), "float32", op="max")
            top_r = T.alloc_fragment((1,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for t in T.Pipelined(4, num_stages=2):
                T.copy(A[t, 0:4, 0:32], tile)
                T.reducer_init(top)
                for k in T.serial(4):
                    for i in T.Parallel(32):
                        T.reducer_update(top[0], tile[k, i])
                T.finalize_reducer(top, top_r)
                for i, j in T.Parallel(4, 32):
                    T.reducer_update(acc[0], tile[i, j] - top_r[0])
                T.copy(top_r, B[t : t + 1])
            T.finalize_reducer(acc, result)
            T.copy(result, B[4:5])

    return kernel


def partly_before_a_pipeline() -> Any:
    """A contribution to a part of the outputs before the pipeline, which has one to all."""

    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"), C: T.Tensor((4, 32), "float32"), B: T.Tensor((32,), "float32")
    ):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((32,), "float32")
            acc = T.alloc_reducer((32,), "float32")
            result = T.alloc_fragment((32,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(8):
                T.reducer_update(acc[i], A[i])
            for k in T.Pipelined(4, num_stages=2):
                T.copy(C[k, 0:32], tile)
                for i in T.Parallel(32):
                    T.reducer_update(acc[i], tile[i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _tops_and_rest(a: np.ndarray) -> np.ndarray:
    tops = a.max((1, 2))
    return np.concatenate([tops, [(a - tops[:, None, None]).sum()]])


def _with_head(a: np.ndarray, c: np.ndarray) -> np.ndarray:
    return c.sum(0) + np.pad(a, (0, 24))


def cases() -> list[Case]:
    item = "epochs around, in and before pipelines"
    return [
        Case(
            "loop_around_a_pipeline",
            item,
            loop_around_a_pipeline,
            integers((3, 4, 4, 32)),
            lambda a: a.sum((0, 1, 3)) + 3,
            ((4,), "float32"),
        ),
        Case(
            "epoch_with_a_loop_in_a_pipeline",
            item,
            epoch_with_a_loop_in_a_pipeline,
            integers((5, 3, 32), (5, 3, 32), low=-90, high=90),
            lambda a, c: np.minimum(a, c).min((1, 2))[:, None],
            ((5, 1), "float32"),
        ),
        Case(
            "epochs_in_and_over_a_pipeline",
            item,
            epochs_in_and_over_a_pipeline,
            integers((4, 4, 32), low=-90, high=90),
            _tops_and_rest,
            ((5,), "float32"),
        ),
        Case(
            "partly_before_a_pipeline",
            item,
            partly_before_a_pipeline,
            integers((8,), (4, 32)),
            _with_head,
            ((32,), "float32"),
        ),
    ]
