"""What threads do to one place of shared memory, one after another, in tiles, arms and turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Arrays, Case, integers

SIZE = 32
THREADS = 128
TURNS = 4


def arms_into_one_tile(swapped: bool) -> Any:
    """One arm exchanges through shared memory, with a barrier; the other stores at once.

    What both store has the place of the tile that was read before.
    """

    @T.prim_func
    def kernel(A: T.Tensor((2, SIZE, SIZE), "float32"), B: T.Tensor((2, SIZE), "float32")):
        with T.Kernel(2, threads=THREADS) as b:
            tile = T.alloc_shared((SIZE, SIZE), "float32")
            out = T.alloc_shared((SIZE,), "float32")
            total = T.alloc_reducer((SIZE,), "float32", op="sum")
            least = T.alloc_reducer((SIZE,), "float32", op="min")
            T.reducer_init(total)
            T.reducer_init(least)
            T.copy(A[b, 0:SIZE, 0:SIZE], tile)
            for i, j in T.Parallel(SIZE, SIZE):
                T.reducer_update(total[j], tile[i, j])
            for i, j in T.Parallel(SIZE, SIZE):
                T.reducer_update(least[i], tile[i, j])
            if swapped:
                if b != 0:
                    T.finalize_reducer(least, out)
                else:
                    T.finalize_reducer(total, out)
            else:
                if b == 0:
                    T.finalize_reducer(total, out)
                else:
                    T.finalize_reducer(least, out)
            T.copy(out, B[b, 0:SIZE])

    return kernel


def arms_over_the_tile() -> Any:
    """Both arms store over a row of the tile that was read before."""

    @T.prim_func
    def kernel(A: T.Tensor((2, SIZE, SIZE), "float32"), B: T.Tensor((2, SIZE), "float32")):
        with T.Kernel(2, threads=THREADS) as b:
            tile = T.alloc_shared((SIZE, SIZE), "float32")
            total = T.alloc_reducer((SIZE,), "float32", op="sum")
            least = T.alloc_reducer((SIZE,), "float32", op="min")
            T.reducer_init(total)
            T.reducer_init(least)
            T.copy(A[b, 0:SIZE, 0:SIZE], tile)
            for i, j in T.Parallel(SIZE, SIZE):
                T.reducer_update(total[j], tile[i, j])
            for i, j in T.Parallel(SIZE, SIZE):
                T.reducer_update(least[i], tile[i, j])
            if b == 0:
                T.finalize_reducer(total, tile[0, 0:SIZE])
            else:
                T.finalize_reducer(least, tile[0, 0:SIZE])
            T.copy(tile[0, 0:SIZE], B[b, 0:SIZE])

    return kernel


def one_arm_exchanges() -> Any:
    """One arm exchanges and there is no other; then the tile that was read is filled again."""

    @T.prim_func
    def kernel(A: T.Tensor((2, SIZE, SIZE), "float32"), B: T.Tensor((2, SIZE), "float32")):
        with T.Kernel(2, threads=THREADS) as b:
            tile = T.alloc_shared((SIZE, SIZE), "float32")
            acc = T.alloc_reducer((SIZE,), "float32", op="sum")
            result = T.alloc_fragment((SIZE,), "float32")
            T.reducer_init(acc)
            T.copy(A[b, 0:SIZE, 0:SIZE], tile)
            for i, j in T.Parallel(SIZE, SIZE):
                T.reducer_update(acc[j], tile[i, j])
            if b == 0:
                T.finalize_reducer(acc, result)
                T.copy(result, B[b, 0:SIZE])
            T.copy(A[1 - b, 0:SIZE, 0:SIZE], tile)
            if b != 0:
                for j in T.Parallel(SIZE):
                    B[b, j] = tile[j, SIZE - 1 - j]

    return kernel


def tiles_of_two_dtypes(width: int) -> Any:
    """Tiles of 2 and of 4 bytes an element that live one after the other, in one place."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64,), "float16"),
        C: T.Tensor((width,), "float32"),
        B: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=THREADS):
            narrow = T.alloc_shared((64,), "float16")
            wide = T.alloc_shared((width,), "float32")
            acc = T.alloc_reducer((1,), "float32", op="min")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            T.copy(A, narrow)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], narrow[i].astype("float32"))
            T.copy(C, wide)
            for i in T.Parallel(width):
                T.reducer_update(acc[0], wide[i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def epoch_in_a_while() -> Any:
    """Each turn of a `while` loop has an epoch, and its exchange the place of the last one's."""

    @T.prim_func
    def kernel(
        A: T.Tensor((TURNS, 64), "int32"),
        turns: T.Tensor((1,), "int32"),
        B: T.Tensor((4,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            k = T.alloc_var("int32")
            acc = T.alloc_reducer((1,), "int32", op="sum")
            result = T.alloc_fragment((1,), "int32")
            k = 0
            while k < turns[0]:
                T.reducer_init(acc)
                for j in T.Parallel(64):
                    T.reducer_update(acc[0], A[k, j])
                T.finalize_reducer(acc, result)
                B[k] = result[0]
                k = k + 1

    return kernel


def epoch_in_some_turns() -> Any:
    """Each turn of a loop has an epoch, and some another one under a condition from memory."""

    @T.prim_func
    def kernel(
        A: T.Tensor((TURNS, 256), "float32"),
        flags: T.Tensor((TURNS,), "int32"),
        B: T.Tensor((TURNS, 2), "float32"),
    ):
        with T.Kernel(1, threads=256):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            other = T.alloc_reducer((1,), "float32", op="max")
            result = T.alloc_fragment((1,), "float32")
            for k in T.serial(TURNS):
                T.reducer_init(acc)
                for j in T.Parallel(256):
                    T.reducer_update(acc[0], A[k, j])
                T.finalize_reducer(acc, result)
                B[k, 0] = result[0]
                B[k, 1] = 0
                if flags[k] > 0:
                    T.reducer_init(other)
                    for j in T.Parallel(256):
                        T.reducer_update(other[0], A[k, j] + j)
                    T.finalize_reducer(other, result)
                    B[k, 1] = result[0]

    return kernel


def turns_left_early() -> Any:
    """Each turn has an epoch, and goes on to the next, or to another epoch."""

    @T.prim_func
    def kernel(
        A: T.Tensor((TURNS, 256), "float32"),
        flags: T.Tensor((TURNS,), "int32"),
        B: T.Tensor((TURNS, 2), "float32"),
    ):
        with T.Kernel(1, threads=256):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            other = T.alloc_reducer((1,), "float32", op="max")
            result = T.alloc_fragment((1,), "float32")
            for k in T.serial(TURNS):
                T.reducer_init(acc)
                for j in T.Parallel(256):
                    T.reducer_update(acc[0], A[k, j])
                T.finalize_reducer(acc, result)
                B[k, 0] = result[0]
                B[k, 1] = 0
                if flags[k] == 0:
                    continue
                T.reducer_init(other)
                for j in T.Parallel(256):
                    T.reducer_update(other[0], A[k, j] + j)
                T.finalize_reducer(other, result)
                B[k, 1] = result[0]

    return kernel


def less_the_maximum() -> Any:
    """A tile less the maxima of its columns, of which there are fewer than threads, in place.

    On sm_90 the tile is laid out for its store, and TileLang does not see that each thread reads
    and writes elements of its own: it puts a barrier in, where half of the threads come by.
    """

    @T.prim_func
    def kernel(A: T.Tensor((3, 16, 64), "int32"), B: T.Tensor((3, 16, 64), "int32")):
        with T.Kernel(1, threads=THREADS):
            tile = T.alloc_shared((16, 64), "int32")
            acc = T.alloc_reducer((64,), "int32", op="max")
            result = T.alloc_fragment((64,), "int32")
            for k in T.serial(3):
                T.copy(A[k, 0:16, 0:64], tile)
                T.reducer_init(acc)
                for i, j in T.Parallel(16, 64):
                    T.reducer_update(acc[j], tile[i, j])
                T.finalize_reducer(acc, result)
                for i, j in T.Parallel(16, 64):
                    tile[i, j] = tile[i, j] - result[j]
                T.copy(tile, B[k, 0:16, 0:64])

    return kernel


def stored_rows(columns: int) -> Any:
    """The sums of a block's columns go through shared memory, and are stored side by side."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 64, columns), "int32"), B: T.Tensor((4 * columns,), "int32")):
        with T.Kernel(4, threads=64) as b:
            row = T.alloc_shared((columns,), "int32")
            acc = T.alloc_reducer((columns,), "int32", op="sum")
            T.reducer_init(acc)
            for i, j in T.Parallel(64, columns):
                T.reducer_update(acc[j], A[b, i, j])
            T.finalize_reducer(acc, row)
            T.copy(row, B[b * columns : b * columns + columns])

    return kernel


def counts_before() -> Any:
    """Histogram, and how many are in the bins before each: by a thread for each bin, which reads
    what those of other bins wrote. From 0.1.9 on both are under one condition on sm_90."""

    @T.prim_func
    def kernel(A: T.Tensor((THREADS,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=THREADS):
            counts = T.alloc_shared((8,), "int32")
            before = T.alloc_shared((8,), "int32")
            acc = T.alloc_reducer((8,), "int32", op="sum")
            T.reducer_init(acc)
            for j in T.Parallel(THREADS):
                T.reducer_update(acc[A[j]], 1)
            T.finalize_reducer(acc, counts)
            for e in T.Parallel(8):
                before[e] = 0
                for k in T.serial(8):
                    before[e] = before[e] + T.if_then_else(k < e, counts[k], 0)
            T.copy(before, B)

    return kernel


def _by_arm(a: np.ndarray) -> np.ndarray:
    return np.stack([a[0].sum(0), a[1].min(1)])


def _before(a: np.ndarray) -> np.ndarray:
    counts = np.bincount(a, minlength=8)
    return counts.cumsum() - counts


def _halves(width: int) -> Callable[[np.random.Generator], Arrays]:
    narrow, wide = integers((64,), dtype="float16"), integers((width,))
    return lambda rng: (*narrow(rng), *wide(rng))


def _flagged(rng: np.random.Generator) -> Arrays:
    return (*integers((TURNS, 256))(rng), np.array([0, 1, 0, 0], "int32"))


def _sums_and_maxima(a: np.ndarray, flags: np.ndarray) -> np.ndarray:
    return np.stack([a.sum(1), np.where(flags > 0, (a + np.arange(256)).max(1), 0)], 1)


def _turns(rng: np.random.Generator) -> Arrays:
    return (*integers((TURNS, 64), dtype="int32")(rng), np.array([TURNS], "int32"))


def cases() -> list[Case]:
    item = "a participant-wide collective outside every guard"
    output = ((2, SIZE), "float32")
    tile = integers((2, SIZE, SIZE))
    found = [
        Case(
            f"arms_into_one_tile_{order}",
            item,
            lambda swapped=swapped: arms_into_one_tile(swapped),
            tile,
            _by_arm,
            output,
        )
        for order, swapped in (("exchange_first", False), ("exchange_last", True))
    ]
    found += [
        Case("arms_over_the_tile", item, arms_over_the_tile, tile, _by_arm, output),
        Case(
            "one_arm_exchanges",
            item,
            one_arm_exchanges,
            tile,
            lambda a: np.stack([a[0].sum(0), a[0][np.arange(SIZE), np.arange(SIZE)[::-1]]]),
            output,
        ),
        Case(
            "epoch_in_a_while",
            "epochs in loops",
            epoch_in_a_while,
            _turns,
            lambda a, _: a.sum(1),
            ((TURNS,), "int32"),
        ),
        Case(
            "epoch_in_some_turns",
            "epochs in loops",
            epoch_in_some_turns,
            _flagged,
            _sums_and_maxima,
            ((TURNS, 2), "float32"),
        ),
        Case(
            "turns_left_early",
            "epochs in loops",
            turns_left_early,
            _flagged,
            _sums_and_maxima,
            ((TURNS, 2), "float32"),
        ),
        Case(
            "less_the_maximum",
            "mixed loop with an ordinary replicated fragment",
            less_the_maximum,
            integers((3, 16, 64), low=-500, high=500, dtype="int32"),
            lambda a: a - a.max(1, keepdims=True),
            ((3, 16, 64), "int32"),
        ),
        Case(
            "counts_before",
            "compatible sites",
            counts_before,
            integers((THREADS,), low=0, high=8, dtype="int32"),
            _before,
            ((8,), "int32"),
        ),
    ]
    found += [
        Case(
            f"tiles_of_two_dtypes_{width}",
            "mixed loop with an ordinary replicated fragment",
            lambda width=width: tiles_of_two_dtypes(width),
            _halves(width),
            lambda a, c: np.array([min(a.min(), c.min())]),
            ((1,), "float32"),
        )
        for width in (1, 16, 64)
    ]
    found += [
        Case(
            f"stored_rows_{columns}",
            "sum/max/min over scalar and multi-element shapes",
            lambda columns=columns: stored_rows(columns),
            integers((4, 64, columns), dtype="int32"),
            lambda a: a.sum(1).reshape(-1),
            ((4 * columns,), "int32"),
        )
        for columns in (1, 3, 4, 6, 8)
    ]
    return found
