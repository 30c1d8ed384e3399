"""Thread blocks of several dimensions whose rows do not all do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def loaded_together() -> Any:
    """Each row of threads loads a part of the tile, and stores a part of the result."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 8, 32), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            tile = T.alloc_shared((8, 32), "float32")
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_shared((8,), "float32")
            T.reducer_init(acc)
            for k in T.serial(3):
                for r in T.serial(2):
                    tile[r * 4 + ty, tx] = A[k, r * 4 + ty, tx]
                for i, j in T.Parallel(8, 32):
                    T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            for r in T.serial(2):
                if tx == 0:
                    B[r * 4 + ty] = result[r * 4 + ty]

    return kernel


def scaled_by_rows() -> Any:
    """Each row of threads scales the result by a number of its own."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((2, 3), "float32")):
        with T.Kernel(2, threads=(16, 3)) as bx:
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            factor = T.alloc_local((1,), "float32")
            acc = T.alloc_reducer((1,), "float32", op="max")
            result = T.alloc_fragment((1,), "float32")
            factor[0] = T.cast(ty + 1, "float32")
            T.reducer_init(acc)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[i] + T.cast(bx, "float32"))
            T.finalize_reducer(acc, result)
            if tx == 0:
                if ty != 1:
                    factor[0] = factor[0] * 2
                B[bx, ty] = result[0] * factor[0]

    return kernel


def streamed_by_rows() -> Any:
    """A pipelined loop, in some blocks with an epoch of its own in each turn."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 8, 256), "float16"), B: T.Tensor((2, 8, 2), "float32")):
        with T.Kernel(2, threads=(16, 8)) as bx:
            tile = T.alloc_shared((8, 64), "float16")
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            top = T.alloc_reducer((8,), "float32", op="max")
            tops = T.alloc_shared((8,), "float32")
            for i in T.Parallel(8):
                B[bx, i, 1] = 0.0
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[bx, 0:8, k * 64 : k * 64 + 64], tile)
                for i, j in T.Parallel(8, 64):
                    T.reducer_update(acc[i], T.cast(tile[i, j], "float32"))
                if bx == 0:
                    T.reducer_init(top)
                    for i, j in T.Parallel(8, 64):
                        T.reducer_update(top[i], T.cast(tile[i, j], "float32"))
                    T.finalize_reducer(top, tops)
                    for i in T.Parallel(8):
                        B[bx, i, 1] = tops[7 - i]
            T.finalize_reducer(acc, result)
            for i in T.Parallel(8):
                B[bx, i, 0] = result[i]

    return kernel


def _streamed(a: np.ndarray) -> np.ndarray:
    last = a[0, ::-1, -64:].max(1)
    return np.stack([a.sum(2), np.stack([last, np.zeros_like(last)])], 2)


def cases() -> list[Case]:
    item = "blocks of several dimensions"
    return [
        Case(
            "rows_load_together",
            item,
            loaded_together,
            integers((3, 8, 32)),
            lambda a: a.sum((0, 2)),
            ((8,), "float32"),
        ),
        Case(
            "rows_scale_the_result",
            item,
            scaled_by_rows,
            integers((64,)),
            lambda a: np.array([[2, 2, 6]]) * (a.max() + np.array([[0], [1]])),
            ((2, 3), "float32"),
        ),
        Case(
            "rows_stream_a_pipeline",
            item,
            streamed_by_rows,
            integers((2, 8, 256), low=-99, high=99, dtype="float16"),
            _streamed,
            ((2, 8, 2), "float32"),
        ),
    ]
