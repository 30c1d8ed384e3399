"""One row sum, written and compiled in every way that TileLang offers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import tilelang
import tilelang.language as T
import torch

from reducer_compat.adapter import adapter

ROWS, COLUMNS = 8, 32


def target() -> Any:
    return adapter().target("cuda", "sm_80")


def row_sum() -> Any:
    """In v1 syntax, which every release traces with and without the runtime."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((ROWS,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(ROWS, COLUMNS):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def scale() -> Any:
    """A kernel without reducers."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(ROWS):
                B[i] = A[i, 0] * 2

    return kernel


def lazy() -> Any:
    """A `@tilelang.jit` function that returns a kernel."""

    @tilelang.jit(out_idx=[1], target=target())
    def make(rows):
        @T.prim_func
        def kernel(A: T.Tensor((rows, COLUMNS), "float32"), B: T.Tensor((rows,), "float32")):
            with T.Kernel(1, threads=128):
                acc = T.alloc_reducer((rows,), "float32", op="sum", replication="all")
                T.clear(acc)
                for i, j in T.Parallel(rows, COLUMNS):
                    acc[i] += A[i, j]
                T.finalize_reducer(acc)
                T.copy(acc, B)

        return kernel

    return make


def eager() -> Any:
    """A `@tilelang.jit` function that is the kernel."""

    @tilelang.jit(target=target())
    def kernel(A, B):
        A: T.Tensor((ROWS, COLUMNS), "float32")
        B: T.Tensor((ROWS,), "float32")
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((ROWS,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(ROWS, COLUMNS):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(ROWS, COLUMNS), torch.empty(ROWS)


def _compiled() -> Any:
    return tilelang.compile(row_sum(), out_idx=[1], target=target())


def _pickled() -> Any:
    func = pickle.loads(pickle.dumps(row_sum()))
    return tilelang.compile(func, out_idx=[1], target=target())


def _in_parallel() -> Any:
    return tilelang.par_compile([row_sum()], out_idx=[1], target=target())[0]


#: How to get from a kernel to a compiled one, by name.
WAYS: dict[str, Callable[[], Any]] = {
    "compile": _compiled,
    "pickle, compile": _pickled,
    "par_compile": _in_parallel,
    "lazy jit": lambda: lazy()(ROWS),
    "lazy jit, par_compile": lambda: lazy().par_compile([(ROWS,)])[0],
    "eager jit": lambda: eager().compile(*tensors()),
}
