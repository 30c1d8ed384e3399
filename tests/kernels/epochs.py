"""Epochs: seeds, epochs in loops, one allocation with many epochs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def seeded() -> Any:
    """A seed enters once per output, whatever the number of threads."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(acc, 10)
            for i, j in T.Parallel(4, 32):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def seeded_by_a_load() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32", op="max")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc, A[3] + 100)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def absolute_max() -> Any:
    """v1's habit: the largest magnitude, from 0."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 64), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((2,), "float32", op="max", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(2, 64):
                acc[i] = T.max(acc[i], -A[i, j])
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def epoch_in_a_loop() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((5, 64), "float32"), B: T.Tensor((5,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            for k in T.serial(5):
                T.reducer_init(acc)
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[k, i])
                T.finalize_reducer(acc, result)
                for i in T.Parallel(1):
                    B[k] = result[i]

    return kernel


def allocated_in_a_loop() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((3, 4, 16), "float32"), B: T.Tensor((3, 4), "float32")):
        with T.Kernel(1, threads=64):
            for k in T.serial(3):
                acc = T.alloc_reducer((4,), "float32", op="min", replication="all")
                T.fill(acc, T.infinity("float32"))
                for i, j in T.Parallel(4, 16):
                    acc[i] = T.min(A[k, i, j], acc[i])
                T.finalize_reducer(acc)
                T.copy(acc, B[k, :])

    return kernel


def under_a_uniform_branch() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((2, 64), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            if bx == 0:
                T.reducer_init(acc)
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[bx, i])
                T.finalize_reducer(acc, result)
                T.copy(result, B[bx : bx + 1])
            else:
                B[bx] = -1

    return kernel


def pipelined_epochs() -> Any:
    """A whole epoch in every iteration of a pipelined loop."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 4, 64), "float16"), B: T.Tensor((6, 4), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((4, 64), "float16")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            for k in T.Pipelined(6, num_stages=2):
                T.copy(A[k, 0:4, 0:64], tile)
                T.reducer_init(acc)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], T.cast(tile[i, j], "float32"))
                T.finalize_reducer(acc, result)
                T.copy(result, B[k, :])

    return kernel


def opened_twice() -> Any:
    """One allocation, two epochs: the second has a seed and another destination."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 4, 32), "float32"), B: T.Tensor((2, 4), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((4,), "float32")
            first = T.alloc_fragment((4,), "float32")
            second = T.alloc_shared((4,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(4, 32):
                T.reducer_update(acc[i], A[0, i, j])
            T.finalize_reducer(acc, first)
            T.reducer_init(acc, 5)
            for i, j in T.Parallel(4, 32):
                T.reducer_update(acc[i], A[1, i, j])
            T.finalize_reducer(acc, second)
            T.copy(first, B[0, :])
            T.copy(second, B[1, :])

    return kernel


def finalized_on_a_condition() -> Any:
    """A finalize that a loaded, uniform condition may skip."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64,), "float32"), S: T.Tensor((3,), "int32"), B: T.Tensor((3,), "float32")
    ):
        with T.Kernel(3, threads=128) as bx:
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[i])
            if S[bx] > 0:
                T.finalize_reducer(acc, result)
                if T.get_thread_binding() == 0:
                    B[bx] = result[0]
            else:
                B[bx] = -1

    return kernel


def read_by_one_and_by_all() -> Any:
    """A result that one thread reads outside T.Parallel, and all threads inside."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 64), "float32"), B: T.Tensor((2, 65), "float32")):
        with T.Kernel(2, threads=128) as bx:
            acc = T.alloc_reducer((2,), "float32", op="max")
            result = T.alloc_fragment((2,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(2, 32):
                T.reducer_update(acc[i], A[bx, i * 32 + j])
            T.finalize_reducer(acc, result)
            if T.get_thread_binding() == 0:
                B[bx, 64] = result[0] + result[1]
            for i, j in T.Parallel(2, 32):
                B[bx, i * 32 + j] = A[bx, i * 32 + j] - result[i]

    return kernel


def _conditional(a: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.where(s > 0, a.sum(), -1)


def _shifted(a: np.ndarray) -> np.ndarray:
    top = a.reshape(2, 2, 32).max(2)
    return np.concatenate([a - np.repeat(top, 32, axis=1), top.sum(1, keepdims=True)], axis=1)


def cases() -> list[Case]:
    return [
        Case(
            "opened_twice",
            "several epochs per allocation",
            opened_twice,
            integers((2, 4, 32)),
            lambda a: np.stack([a[0].sum(1), a[1].sum(1) + 5]),
            ((2, 4), "float32"),
        ),
        Case(
            "finalized_on_a_condition",
            "collectives outside guards",
            finalized_on_a_condition,
            lambda rng: (
                rng.integers(-4, 5, 64).astype("float32"),
                np.array([1, 0, 2], "int32"),
            ),
            _conditional,
            ((3,), "float32"),
        ),
        Case(
            "read_by_one_and_by_all",
            "a result is there for every thread",
            read_by_one_and_by_all,
            integers((2, 64)),
            _shifted,
            ((2, 65), "float32"),
        ),
        Case(
            "seeded",
            "the seed once per output",
            seeded,
            integers((4, 32)),
            lambda a: a.sum(1) + 10,
            ((4,), "float32"),
        ),
        Case(
            "seeded_by_a_load",
            "the seed once per output",
            seeded_by_a_load,
            integers((64,)),
            lambda a: np.array([a[3] + 100]),
            ((1,), "float32"),
        ),
        Case(
            "absolute_max",
            "a fill other than the identity is a seed",
            absolute_max,
            integers((2, 64)),
            lambda a: np.maximum((-a).max(1), 0),
            ((2,), "float32"),
        ),
        Case(
            "epoch_in_a_loop",
            "epochs in loops",
            epoch_in_a_loop,
            integers((5, 64)),
            lambda a: a.sum(1),
            ((5,), "float32"),
        ),
        Case(
            "allocated_in_a_loop",
            "epochs in loops",
            allocated_in_a_loop,
            integers((3, 4, 16)),
            lambda a: a.min(2),
            ((3, 4), "float32"),
        ),
        Case(
            "under_a_uniform_branch",
            "collectives outside guards",
            under_a_uniform_branch,
            integers((2, 64)),
            lambda a: np.array([a[0].sum(), -1]),
            ((2,), "float32"),
        ),
        Case(
            "pipelined_epochs",
            "epochs in loops",
            pipelined_epochs,
            integers((6, 4, 64), dtype="float16"),
            lambda a: a.sum(2),
            ((6, 4), "float32"),
        ),
    ]
