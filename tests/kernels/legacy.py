"""The spellings of v1, unchanged in source."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def spellings() -> Any:
    """Four ways to write one sum."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer([4], "float32", "sum", replication="all")
            T.fill(acc, 0.0)
            for j in T.Parallel(64):
                acc[0] = acc[0] + A[0, j]
                acc[1] = A[1, j] + acc[1]
                acc[2] -= A[2, j]
                acc[3] = acc[3] + A[3, j] + 1
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def narrow_input() -> Any:
    """float16 into float32, bool into int64, an `if` around the update, reads in an expression."""

    @T.prim_func
    def kernel(A: T.Tensor((96,), "float16"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            total = T.alloc_reducer(1, "float32", replication="all")
            count = T.alloc_reducer((1,), "int64", replication="all")
            T.clear(total)
            T.clear(count)
            for i in T.Parallel(96):
                value = A[i]
                if value > T.float16(0):
                    total[0] += value
                count[0] += T.cast(A[i] > T.float16(1), "int64")
            T.finalize_reducer(total)
            T.finalize_reducer(count)
            B[0] = total[0] * 2
            B[1] = T.cast(count[0], "float32") + bx

    return kernel


def finalized_in_a_branch() -> Any:
    """The finalize under a uniform `if`, the rest outside."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 64), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(64):
                acc[0] += A[bx, i]
            if bx == 1:
                T.finalize_reducer(acc)
                B[bx] = acc[0]
            else:
                B[bx] = 7

    return kernel


def scaled_result() -> Any:
    """After a finalize in place the reducer is a fragment: it is stored to, and used again."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 8, 32), "float32"), B: T.Tensor((3, 8), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(8, 32):
                acc[i] += A[0, i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B[0, :])
            for i in T.Parallel(8):
                acc[i] = acc[i] / 4
            for i in T.Parallel(8):
                acc[i] *= 2
            T.copy(acc, B[1, :])
            T.clear(acc)
            for i, j in T.Parallel(8, 32):
                acc[i] += A[1, i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B[2, :])

    return kernel


def read_in_part() -> Any:
    """A result that stays in place, read whole by one loop and in part by the loop of an update."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), B: T.Tensor((6,), "float32")):
        with T.Kernel(1, threads=32):
            row = T.alloc_reducer((4,), "float32", op="max", replication="all")
            top = T.alloc_reducer((2,), "float32", op="max", replication="all")
            T.fill(row, -T.infinity("float32"))
            for i in T.Parallel(4):
                row[i] = T.max(row[i], A[i])
            T.finalize_reducer(row)
            for i in T.Parallel(4):
                B[i] = row[i]
            T.fill(top, -T.infinity("float32"))
            for i, _j, p in T.Parallel(2, 4, 4):
                top[1] = T.max(top[1], A[p] - row[i])
            T.finalize_reducer(top)
            T.copy(top, B[4:6])

    return kernel


def _spellings(a: np.ndarray) -> np.ndarray:
    return np.array([a[0].sum(), a[1].sum(), -a[2].sum(), a[3].sum() + 64])


def cases() -> list[Case]:
    return [
        Case(
            "v1_spellings",
            "v1 syntax canonicalized",
            spellings,
            integers((4, 64)),
            _spellings,
            ((4,), "float32"),
        ),
        Case(
            "v1_narrow_input",
            "v1 syntax canonicalized",
            narrow_input,
            integers((96,), dtype="float16"),
            lambda a: np.array([2 * a[a > 0].sum(), (a > 1).sum()]),
            ((2,), "float32"),
        ),
        Case(
            "v1_scaled_result",
            "v1 syntax canonicalized",
            scaled_result,
            integers((2, 8, 32)),
            lambda a: np.stack([a[0].sum(1), a[0].sum(1) / 2, a[1].sum(1)]),
            ((3, 8), "float32"),
        ),
        Case(
            "v1_read_in_part",
            "v1 syntax canonicalized",
            read_in_part,
            integers((4,)),
            lambda a: np.append(a, [-np.inf, a.max() - a[:2].min()]),
            ((6,), "float32"),
        ),
        Case(
            "v1_finalized_in_a_branch",
            "v1 syntax canonicalized",
            finalized_in_a_branch,
            integers((2, 64)),
            lambda a: np.array([7, a[1].sum()]),
            ((2,), "float32"),
        ),
    ]
