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
    ]
