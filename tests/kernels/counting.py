"""A contribution counts once: not once per replica, not once per thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers

THREADS = 128


def one_to_eight_v1() -> Any:
    @T.prim_func
    def kernel(B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=THREADS):
            acc = T.alloc_reducer((1,), "int32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(8):
                acc[0] += i + 1
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def one_to_eight_shipped() -> Any:
    @T.prim_func
    def kernel(B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=THREADS):
            acc = T.alloc_reducer((1,), "int32")
            result = T.alloc_fragment((1,), "int32")
            T.reducer_init(acc)
            for i in T.Parallel(8):
                T.reducer_update(acc[0], i + 1)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def one_to_eight_rfc() -> Any:
    @T.prim_func
    def kernel(B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=THREADS):
            acc = T.alloc_reducer((1,), "int32")
            result = T.alloc_fragment((1,), "int32")
            for i in T.Parallel(8):
                T.reducer_update(acc, 0, i + 1)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def serial_inside_parallel() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32, 4), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=THREADS):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(32):
                for k in T.serial(4):
                    acc[0] += A[i, k]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def beside_a_fragment_write() -> Any:
    @T.prim_func
    def kernel(
        A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32"), B: T.Tensor((65,), "float32")
    ):
        with T.Kernel(1, threads=THREADS):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            doubled = T.alloc_fragment((64,), "float32")
            T.clear(acc)
            for i in T.Parallel(64):
                doubled[i] = A[i] * 2 + C[i]
                acc[0] += A[i]
            T.finalize_reducer(acc)
            T.copy(doubled, B[0:64])
            B[64] = acc[0]

    return kernel


def predicated() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((50,), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=THREADS):
            acc = T.alloc_reducer((2,), "float32")
            result = T.alloc_fragment((2,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(50):
                if A[i] > 0:
                    if i % 3 == 0:
                        T.reducer_update(acc[0], A[i])
                else:
                    T.reducer_update(acc[1], A[i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _sum_and_rows(a: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.concatenate([a * 2 + c, [a.sum()]])


def _predicated(a: np.ndarray) -> np.ndarray:
    every_third = np.arange(50) % 3 == 0
    return np.array([a[(a > 0) & every_third].sum(), a[a <= 0].sum()])


def cases() -> list[Case]:
    one = ((1,), "int32")
    builds = (one_to_eight_v1, one_to_eight_shipped, one_to_eight_rfc)
    found = [
        Case(b.__name__, "36, not 576", b, integers(), lambda: np.array([36]), one) for b in builds
    ]
    return [
        *found,
        Case(
            "serial_inside_parallel",
            "updates in a serial loop inside the parallel one",
            serial_inside_parallel,
            integers((32, 4)),
            lambda a: a.sum().reshape(1),
            ((1,), "float32"),
        ),
        Case(
            "beside_a_fragment_write",
            "a mixed loop with an ordinary replicated fragment",
            beside_a_fragment_write,
            integers((64,), (64,)),
            _sum_and_rows,
            ((65,), "float32"),
        ),
        Case(
            "predicated",
            "predicated updates",
            predicated,
            integers((50,)),
            _predicated,
            ((2,), "float32"),
        ),
    ]
