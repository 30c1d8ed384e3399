"""Values and conditions that a pipelined loop reads of its tiles, in the loop of an update and
before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers

STEPS, WIDTH = 5, 64


def in_the_loop_of_the_update() -> Any:
    """A thread has one iteration of the loop; one value is used twice, one is read of another."""

    @T.prim_func
    def kernel(
        X: T.Tensor((STEPS, WIDTH), "float32"),
        W: T.Tensor((STEPS,), "float32"),
        y: T.Tensor((WIDTH,), "float32"),
    ):
        with T.Kernel(1, threads=WIDTH):
            X_s = T.alloc_shared((WIDTH,), "float32")
            acc = T.alloc_reducer((WIDTH,), "float32", op="sum")
            result = T.alloc_fragment((WIDTH,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(STEPS, num_stages=2):
                T.copy(X[k, 0:WIDTH], X_s)
                for i in T.Parallel(WIDTH):
                    scale = W[k]
                    value = X_s[i] * scale
                    twice = value + value
                    T.reducer_update(acc[i], value)
                    T.reducer_update(acc[(i + 1) % WIDTH], twice + scale)
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return kernel


def before_a_copy() -> Any:
    """The value is read between two copies, before the loop of the update."""

    @T.prim_func
    def kernel(
        X: T.Tensor((STEPS, WIDTH), "float32"),
        W: T.Tensor((STEPS,), "float32"),
        y: T.Tensor((WIDTH,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X_s = T.alloc_shared((WIDTH,), "float32")
            W_s = T.alloc_shared((1,), "float32")
            acc = T.alloc_reducer((WIDTH,), "float32", op="sum")
            result = T.alloc_fragment((WIDTH,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(STEPS, num_stages=2):
                T.copy(W[k : k + 1], W_s)
                scale = W_s[0]
                T.copy(X[k, 0:WIDTH], X_s)
                for i in T.Parallel(WIDTH):
                    T.reducer_update(acc[i], X_s[i] * scale)
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return kernel


def in_a_condition() -> Any:
    """Nothing else reads the tile."""

    @T.prim_func
    def kernel(
        X: T.Tensor((STEPS, WIDTH), "float32"),
        W: T.Tensor((STEPS,), "float32"),
        y: T.Tensor((WIDTH,), "float32"),
    ):
        with T.Kernel(1, threads=WIDTH):
            X_s = T.alloc_shared((WIDTH,), "float32")
            acc = T.alloc_reducer((WIDTH,), "float32", op="sum")
            result = T.alloc_fragment((WIDTH,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(STEPS, num_stages=2):
                T.copy(X[k, 0:WIDTH], X_s)
                for i in T.Parallel(WIDTH):
                    if X_s[i] > 0:
                        T.reducer_update(acc[i], W[k])
                    else:
                        T.reducer_update(acc[i], 1)
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return kernel


def before_a_condition() -> Any:
    """A named value in front of a condition on the loop's variable, which copies the loop."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 16), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((16,), "int32")
            acc = T.alloc_reducer((1,), "int32", op="sum")
            result = T.alloc_fragment((1,), "int32")
            T.reducer_init(acc)
            for k in T.serial(4):
                T.copy(A[k, 0:16], tile)
                for i, j in T.Parallel(16, 64):
                    value = tile[i] * 2
                    T.reducer_update(acc[0], value)
                    if j < 35:
                        T.reducer_update(acc[0], 1)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _two_columns(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    value = (x * w[:, None]).sum(0)
    return value + np.roll(2 * value + w.sum(), 1)


def cases() -> list[Case]:
    made = (
        ("value_of_a_tile", in_the_loop_of_the_update, _two_columns),
        ("value_before_a_copy", before_a_copy, lambda x, w: (x * w[:, None]).sum(0)),
        (
            "condition_of_a_tile",
            in_a_condition,
            lambda x, w: np.where(x > 0, w[:, None], 1).sum(0),
        ),
    )
    inputs = integers((STEPS, WIDTH), (STEPS,))
    item = "values of a pipelined loop"
    found = [
        Case(name, item, build, inputs, expected, ((WIDTH,), "float32"))
        for name, build, expected in made
    ]
    found.append(
        Case(
            "value_before_a_condition",
            "predicated updates",
            before_a_condition,
            integers((4, 16), dtype="int32"),
            lambda a: np.array([a.sum() * 128 + 4 * 16 * 35]),
            ((1,), "int32"),
        )
    )
    return found
