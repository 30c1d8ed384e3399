"""Errors: code, kernel, file and line of the statement, and the fix; on every release."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import tilelang.language as T

from reducer_compat import ReducerError
from tests.compat.lowering import source


def no_finalize() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            T.reducer_init(acc)
            for i in T.Parallel(32):
                T.reducer_update(acc[0], A[i])

    return kernel


def finalized_twice() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            out = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(32):
                T.reducer_update(acc[0], A[i])
            T.finalize_reducer(acc, out)
            T.finalize_reducer(acc, out)
            T.copy(out, B)

    return kernel


def plain_store() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            out = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(32):
                acc[0] = A[i]
            T.finalize_reducer(acc, out)
            T.copy(out, B)

    return kernel


def wrong_combine() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32", op="max")
            out = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(32):
                acc[0] += A[i]
            T.finalize_reducer(acc, out)
            T.copy(out, B)

    return kernel


@pytest.mark.parametrize("build", [no_finalize, finalized_twice, plain_store, wrong_combine])
def test_a_misused_reducer_names_rule_kernel_and_line(build: Callable[[], Any]) -> None:
    with pytest.raises(ReducerError) as caught:
        source(build())
    error = caught.value
    assert error.code.startswith("RM2")
    assert error.kernel == "kernel"
    name, _, line = error.location.rpartition(":")
    lines, first = inspect.getsourcelines(build)
    assert name == __file__
    assert first <= int(line) < first + len(lines)
    assert error.fix


def test_an_operator_that_is_no_monoid_is_refused_where_it_is_written() -> None:
    with pytest.raises(ReducerError) as caught:
        T.alloc_reducer((1,), "float32", op="mean")
    assert 'RM217 a reducer is combined by "mean", which is no reduction operation' in str(
        caught.value
    )
    assert caught.value.location.startswith(__file__)
