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


def update_at_a_float() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((8,), "float32", op="sum")
            out = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(32):
                T.reducer_update(acc[A[i]], 1)
            T.finalize_reducer(acc, out)
            T.copy(out, B)

    return kernel


def test_an_index_that_is_no_integer_is_refused_at_its_update() -> None:
    """TileLang stops in code generation, without a word of where."""
    with pytest.raises(
        ReducerError, match=r"RC002 the index A\[i\] of an update is float32"
    ) as caught:
        source(update_at_a_float())
    lines, first = inspect.getsourcelines(update_at_a_float)
    update = next(n for n, line in enumerate(lines) if "reducer_update" in line)
    assert caught.value.location == f"{__file__}:{first + update}"
    assert caught.value.fix == 'cast it: `T.cast(A[i], "int32")`'


def read_in_two_ways() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32", op="sum")
            out = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 32):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, out)
            for i in T.Parallel(8):
                B[i] = out[i] - out[0]

    return kernel


def test_what_tilelang_says_is_passed_on_with_a_way_out() -> None:
    """From 0.1.13 on the line of the kernel follows it, which is not what it says."""
    with pytest.raises(ReducerError, match="RC003") as caught:
        source(read_in_two_ways())
    assert "StructuralEqual" in caught.value.message
    assert "-->" not in caught.value.message
    assert "fragment out[8]" in caught.value.message
    assert caught.value.message.endswith("on 128 threads")
    assert caught.value.fix.startswith("read a fragment by one index in each loop")


def test_a_reducer_without_a_name_of_its_own_is_called_something() -> None:
    def made() -> list[Any]:
        return [T.alloc_reducer((8,), "float32"), T.alloc_reducer((8,), "float32")]

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")) -> None:
        with T.Kernel(1, threads=128):
            several = made()
            result = T.alloc_fragment((8,), "float32")
            for i, j in T.Parallel(8, 64):
                T.reducer_update(several[0][i], A[i, j])
            T.finalize_reducer(several[0], result)
            T.copy(result, B)

    with pytest.raises(ReducerError, match="RM206 reducer `reducer` is never initialized"):
        source(kernel)
