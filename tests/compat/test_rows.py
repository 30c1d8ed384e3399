"""Epochs in which threads of a block differ; kernels/blocks.py has those that do not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import ReducerError, simt
from tests.compat.lowering import source


def in_the_value() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            acc = T.alloc_reducer((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[T.get_thread_binding(1), i])  # here
            T.finalize_reducer(acc, B)

    return kernel


def in_a_fragment() -> Any:
    """By way of a private number, which a later turn of a loop finds."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            own = T.alloc_local((1,), "int32")
            tile = T.alloc_fragment((64,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            own[0] = 0
            T.reducer_init(acc)
            for _ in T.serial(3):
                for i in T.Parallel(64):
                    tile[i] = A[own[0], i]
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], tile[i])  # here
                own[0] = T.get_thread_binding(1)
            T.finalize_reducer(acc, B)

    return kernel


def in_a_loop() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=(32, 1, 2)):
            acc = T.alloc_reducer((1,), "float32")
            T.reducer_init(acc)
            for _ in T.serial(T.get_thread_binding(2) + 1):
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[i])  # here
            T.finalize_reducer(acc, B)

    return kernel


def in_the_seed() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            acc = T.alloc_reducer((1,), "float32")
            T.reducer_init(acc, T.cast(T.get_thread_binding(1), "float32"))  # here
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[i])
            T.finalize_reducer(acc, B)

    return kernel


@pytest.mark.parametrize("build", [in_the_value, in_a_fragment, in_a_loop, in_the_seed])
def test_an_epoch_that_differs_between_rows_is_refused_where_it_does(
    build: Callable[[], Any],
) -> None:
    lines, first = inspect.getsourcelines(build)
    line = first + next(k for k, text in enumerate(lines) if "# here" in text)
    with pytest.raises(ReducerError) as caught:
        source(build())
    assert caught.value.code == "RC004"
    assert "depends on threadIdx.y or threadIdx.z" in caught.value.message
    assert caught.value.location == f"{__file__}:{line}"


def under_a_guard() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32")
            T.reducer_init(acc)
            if T.get_thread_binding() < 64:
                for i, j in T.Parallel(8, 64):
                    T.reducer_update(acc[i], A[i, j])  # here
            T.finalize_reducer(acc, B)

    return kernel


def as_often_as_its_number() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((1,), "float32")
            T.reducer_init(acc)
            for _ in T.serial(T.get_thread_binding()):
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[i])  # here
            T.finalize_reducer(acc, B)

    return kernel


def by_what_a_thread_read() -> Any:
    """By way of a private number, which says where an epoch begins."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            own = T.alloc_local((1,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            own[0] = A[T.get_thread_binding()]
            if own[0] > 0.0:
                T.reducer_init(acc)  # here
                for i in T.Parallel(64):
                    T.reducer_update(acc[0], A[i])
                T.finalize_reducer(acc, B)

    return kernel


@pytest.mark.parametrize("build", [under_a_guard, as_often_as_its_number, by_what_a_thread_read])
def test_what_some_threads_do_not_come_to_is_refused(build: Callable[[], Any]) -> None:
    lines, first = inspect.getsourcelines(build)
    line = first + next(k for k, text in enumerate(lines) if "# here" in text)
    with pytest.raises(ReducerError, match="differs between threads") as caught:
        source(build())
    assert caught.value.code == "RC002"
    assert caught.value.location == f"{__file__}:{line}"


def chosen_by_the_block() -> Any:
    """What all threads of a block find alike: its index, and what memory says to each."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 64), "float32"),
        turns: T.Tensor((4,), "int32"),
        B: T.Tensor((4,), "float32"),
    ):
        with T.Kernel(4, threads=64) as bx:
            own = T.alloc_local((1,), "int32")
            acc = T.alloc_reducer((1,), "float32")
            own[0] = turns[bx]
            T.reducer_init(acc)
            if bx > 0:
                for _ in T.serial(own[0]):
                    for i in T.Parallel(64):
                        T.reducer_update(acc[0], A[bx, i])
            T.finalize_reducer(acc, B[bx : bx + 1])

    return kernel


def test_conditions_that_all_threads_see_alike_are_taken() -> None:
    A = np.arange(256, dtype="float32").reshape(4, 64)
    turns = np.array([1, 0, 2, 3], dtype="int32")
    done = simt.execute(chosen_by_the_block(), A, turns, out_idx=[-1])
    np.testing.assert_array_equal(done.outputs[0], A.sum(1) * [0, 0, 2, 3])
