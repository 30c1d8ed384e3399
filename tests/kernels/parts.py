"""Parts of buffers as destinations."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def rows_of_a_tensor() -> Any:
    """A slice of global memory that has an axis more, and starts at a loop's variable."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 8, 32), "float32"), B: T.Tensor((3, 16), "float32")):
        with T.Kernel(3, threads=64) as bx:
            acc = T.alloc_reducer((8,), "float32")
            for half in T.serial(2):
                T.reducer_init(acc, T.cast(half, "float32"))
                for i, j in T.Parallel(8, 32):
                    T.reducer_update(acc[i], A[bx, i, j])
                T.finalize_reducer(acc, B[bx, half * 8 : half * 8 + 8])

    return kernel


def an_element() -> Any:
    """A single output, into one element; a second one into the place where it starts."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 100), "int32"), B: T.Tensor((4, 5), "int32")):
        with T.Kernel(4, threads=96) as bx:
            top = T.alloc_reducer((1,), "int32", op="max")
            acc = T.alloc_reducer((2, 2), "int32")
            T.reducer_init(top)
            T.reducer_init(acc)
            for j in T.Parallel(100):
                T.reducer_update(top[0], A[bx, j])
                T.reducer_update(acc[j % 2, j // 2 % 2], A[bx, j])
            T.finalize_reducer(top, B[bx, 0])
            low = T.alloc_shared((2, 2), "int32")
            T.finalize_reducer(acc, low[0:2, 0:2])
            for i, j in T.Parallel(2, 2):
                B[bx, 1 + i * 2 + j] = low[i, j]

    return kernel


def halves_of_a_tile() -> Any:
    """The two halves of a shared tile, from two reducers."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((2, 8), "float32")):
        with T.Kernel(1, threads=128):
            both = T.alloc_shared((2, 8), "float32")
            low = T.alloc_reducer((8,), "float32", op="min")
            high = T.alloc_reducer((8,), "float32", op="max")
            T.reducer_init(low)
            T.reducer_init(high)
            for i, j in T.Parallel(8, 64):
                T.reducer_update(low[i], A[i, j])
                T.reducer_update(high[i], A[i, j])
            T.finalize_reducer(low, both[0, :])
            T.finalize_reducer(high, both[1, 0:8])
            T.copy(both, B)

    return kernel


def halves_of_a_fragment() -> Any:
    """The two halves of a fragment that is copied out as a whole."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=128):
            both = T.alloc_fragment((16,), "float32")
            low = T.alloc_reducer((8,), "float32", op="min")
            high = T.alloc_reducer((8,), "float32", op="max")
            T.reducer_init(low)
            T.reducer_init(high)
            for i, j in T.Parallel(8, 64):
                T.reducer_update(low[i], A[i, j])
                T.reducer_update(high[i], A[i, j])
            T.finalize_reducer(low, both[0:8])
            T.finalize_reducer(high, both[8:16])
            T.copy(both, B)

    return kernel


def in_a_pipeline() -> Any:
    """A part of the output in every turn of a pipelined loop."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 4, 64), "float16"), B: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((4, 64), "float16")
            acc = T.alloc_reducer((4,), "float32")
            for k in T.Pipelined(6, num_stages=2):
                T.copy(A[k, 0:4, 0:64], tile)
                T.reducer_init(acc)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], T.cast(tile[i, j], "float32"))
                T.finalize_reducer(acc, B[k * 4 : k * 4 + 4])

    return kernel


def _elements(a: np.ndarray) -> np.ndarray:
    sums = a.reshape(4, 25, 2, 2).sum(1).transpose(0, 2, 1).reshape(4, 4)
    return np.concatenate([a.max(1, keepdims=True), sums], axis=1)


def cases() -> list[Case]:
    item = "a part of a buffer as destination"
    return [
        Case(
            "part_of_a_tensor",
            item,
            rows_of_a_tensor,
            integers((3, 8, 32)),
            lambda a: np.concatenate([a.sum(2), a.sum(2) + 1], axis=1),
            ((3, 16), "float32"),
        ),
        Case(
            "part_of_one_element",
            item,
            an_element,
            integers((4, 100), dtype="int32"),
            _elements,
            ((4, 5), "int32"),
        ),
        Case(
            "part_of_a_tile",
            item,
            halves_of_a_tile,
            integers((8, 64)),
            lambda a: np.stack([a.min(1), a.max(1)]),
            ((2, 8), "float32"),
        ),
        Case(
            "part_of_a_fragment",
            item,
            halves_of_a_fragment,
            integers((8, 64)),
            lambda a: np.concatenate([a.min(1), a.max(1)]),
            ((16,), "float32"),
        ),
        Case(
            "part_in_a_pipeline",
            item,
            in_a_pipeline,
            integers((6, 4, 64), dtype="float16"),
            lambda a: a.sum(2).reshape(24),
            ((24,), "float32"),
        ),
    ]
