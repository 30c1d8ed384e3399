"""Streaming kernels: many tiles, one collective at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def gemv(m: int, k: int, bm: int, bk: int, threads: int, stages: int, fragments: bool) -> Any:
    """`A @ x` in tiles of (bm, bk), operands in shared memory or copied on to fragments."""

    @T.prim_func
    def through_shared(
        A: T.Tensor((m, k), "float16"), x: T.Tensor((k,), "float16"), y: T.Tensor((m,), "float32")
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), "float16")
            x_s = T.alloc_shared((bk,), "float16")
            acc = T.alloc_reducer((bm,), "float32")
            result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                for i, j in T.Parallel(bm, bk):
                    T.reducer_update(acc[i], A_s[i, j].astype("float32") * x_s[j].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y[bx * bm])

    @T.prim_func
    def through_fragments(
        A: T.Tensor((m, k), "float16"), x: T.Tensor((k,), "float16"), y: T.Tensor((m,), "float32")
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            A_s = T.alloc_shared((bm, bk), "float16")
            x_s = T.alloc_shared((bk,), "float16")
            A_f = T.alloc_fragment((bm, bk), "float16")
            x_f = T.alloc_fragment((bk,), "float16")
            acc = T.alloc_reducer((bm,), "float32", op="sum", replication="all")
            T.clear(acc)
            for kt in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[bx * bm, kt * bk], A_s)
                T.copy(x[kt * bk], x_s)
                T.copy(A_s, A_f)
                T.copy(x_s, x_f)
                for i, j in T.Parallel(bm, bk):
                    acc[i] += A_f[i, j].astype("float32") * x_f[j].astype("float32")
            T.finalize_reducer(acc)
            T.copy(acc, y[bx * bm])

    return through_fragments if fragments else through_shared


def serial_row_sum(rows: int, columns: int, block: int, threads: int) -> Any:
    """Tiles in a serial loop, operands straight from global memory."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((rows,), "float32")
            result = T.alloc_fragment((rows,), "float32")
            T.reducer_init(acc)
            for k in T.serial(T.ceildiv(columns, block)):
                for i, j in T.Parallel(rows, block):
                    if k * block + j < columns:
                        T.reducer_update(acc[i], A[i, k * block + j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _gemv_case(bm: int, bk: int, threads: int, stages: int, fragments: bool) -> Case:
    m, k = bm * 2, bk * 5
    route = "fragment" if fragments else "shared"
    return Case(
        f"gemv_{bm}x{bk}_{threads}_{stages}_{route}",
        "streaming pipelined GEMV with one final collective",
        lambda: gemv(m, k, bm, bk, threads, stages, fragments),
        integers((m, k), (k,), dtype="float16"),
        lambda a, x: a @ x,
        ((m,), "float32"),
    )


def cases() -> list[Case]:
    found = [
        _gemv_case(bm, bk, threads, stages, fragments)
        for bm, bk, threads, stages in (
            (16, 128, 128, 2),
            (32, 64, 256, 3),
            (8, 96, 128, 2),
            (4, 128, 32, 2),
        )
        for fragments in (False, True)
    ]
    return [
        *found,
        Case(
            "serial_row_sum",
            "updates in a serial loop outside the parallel one",
            lambda: serial_row_sum(6, 100, 32, 128),
            integers((6, 100)),
            lambda a: np.asarray(a.sum(1)),
            ((6,), "float32"),
        ),
    ]
