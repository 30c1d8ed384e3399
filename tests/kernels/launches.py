"""Functions that launch several kernels, each with threads of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def split_reduction() -> Any:
    """Partial results of many blocks, combined by a second kernel of another size."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 6, 8, 32), "float32"),
        W: T.Tensor((4, 8), "float32"),
        B: T.Tensor((9,), "float32"),
    ):
        with T.Kernel(4, threads=128) as bx:
            tile = T.alloc_shared((8, 32), "float32")
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(6, num_stages=2):
                T.copy(A[bx, k, 0:8, 0:32], tile)
                for i, j in T.Parallel(8, 32):
                    T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, W[bx, 0])
        with T.Kernel(1, threads=48):
            held = T.alloc_fragment((4, 8), "float32")
            acc = T.alloc_reducer((8,), "float32", op="max")
            top = T.alloc_reducer((1,), "float32", op="min")
            T.copy(W, held)
            T.reducer_init(acc)
            T.reducer_init(top)
            for k, i in T.Parallel(4, 8):
                T.reducer_update(acc[i], W[k, i])
            for k, i in T.Parallel(4, 8):
                T.reducer_update(top[0], held[k, i])
            T.finalize_reducer(acc, B[0:8])
            T.finalize_reducer(top, B[8])

    return kernel


def one_without() -> Any:
    """A kernel without reducers before one with."""

    @T.prim_func
    def kernel(
        A: T.Tensor((256,), "float32"), W: T.Tensor((256,), "float32"), B: T.Tensor((1,), "float32")
    ):
        with T.Kernel(2, threads=64) as bx:
            for i in T.Parallel(128):
                W[bx * 128 + i] = A[bx * 128 + i] * 2
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(256):
                acc[0] += W[i]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def _split(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    sums = a.sum((1, 3))
    return np.concatenate([sums.max(0), [sums.min()]])


def cases() -> list[Case]:
    item = "several kernels in one function"
    return [
        Case(
            "launched_twice",
            item,
            split_reduction,
            integers((4, 6, 8, 32), (4, 8)),
            _split,
            ((9,), "float32"),
        ),
        Case(
            "launched_after_another",
            item,
            one_without,
            integers((256,), (256,)),
            lambda a, w: 2 * a.sum(keepdims=True),
            ((1,), "float32"),
        ),
    ]
