"""Copies in pipelined loops: in loops inside, before and behind them, and under conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Arrays, Case, integers

ROWS, COLUMNS = 16, 32


def _epoch_in_each_turn(dtype: str) -> Any:
    """Each turn of the pipeline has an epoch around a loop that copies a tile and reads it."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 2, ROWS, COLUMNS), dtype), B: T.Tensor((3, COLUMNS), dtype)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((ROWS, COLUMNS), dtype)
            for k in T.Pipelined(3, num_stages=2):
                acc = T.alloc_reducer((COLUMNS,), dtype, op="bitxor")
                result = T.alloc_fragment((COLUMNS,), dtype)
                T.reducer_init(acc)
                for m in T.serial(2):
                    T.copy(A[k, m, 0:ROWS, 0:COLUMNS], tile)
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        T.reducer_update(acc[j], tile[i, j])
                T.finalize_reducer(acc, result)
                for j in T.Parallel(COLUMNS):
                    B[k, j] = result[j]

    return kernel


def slices_of_a_tile() -> Any:
    """A loop copies the slices of a tile, which is read as a whole behind it."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 2, ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((2, ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="sum")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(3, num_stages=2):
                for m in T.serial(2):
                    T.copy(A[k, m, 0:ROWS, 0:COLUMNS], tile[m, 0:ROWS, 0:COLUMNS])
                for m, i, j in T.Parallel(2, ROWS, COLUMNS):
                    T.reducer_update(acc[i], tile[m, i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def normalized_through_one_tile() -> Any:
    """A pipeline of updates, and one without, through the same tile: each row less its sum."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, 256), "float32"), B: T.Tensor((ROWS, 256), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(256 // COLUMNS, num_stages=2):
                T.copy(A[0, k * COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            for k in T.Pipelined(256 // COLUMNS, num_stages=2):
                T.copy(A[0, k * COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    B[i, k * COLUMNS + j] = tile[i, j] - result[i]

    return kernel


def tile_before_the_pipeline(turns: int, width: int) -> Any:
    """A loop around a tile that the consumers read and a pipeline of `turns` turns.

    A row of `Y` is 8 bytes: the producers copy it element by element.
    """

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 8, width), "float32"),
        Y: T.Tensor((3, turns, ROWS, 4), "int16"),
        Z: T.Tensor((3, turns, ROWS, 4), "float32"),
        B: T.Tensor((3, ROWS), "float32"),
    ):
        with T.Kernel(1, threads=32):
            before = T.alloc_shared((8, width), "float32")
            before_f = T.alloc_fragment((8, width), "float32")
            y = T.alloc_shared((ROWS, 4), "int16")
            z = T.alloc_shared((ROWS, 4), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="max")
            result = T.alloc_fragment((ROWS,), "float32")
            for t in T.serial(3):
                T.reducer_init(acc)
                T.copy(X[t, 0:8, 0:width], before)
                T.copy(before, before_f)
                for i, j in T.Parallel(8, width):
                    T.reducer_update(acc[3], before_f[i, j])
                for k in T.Pipelined(turns, num_stages=3):
                    T.copy(Y[t, k, 0:ROWS, 0:4], y)
                    T.copy(Z[t, k, 0:ROWS, 0:4], z)
                    for i, j in T.Parallel(ROWS, 4):
                        T.reducer_update(acc[i], z[i, j] * T.cast(y[i, j], "float32"))
                T.finalize_reducer(acc, result)
                for i in T.Parallel(ROWS):
                    B[t, i] = result[i]

    return kernel


def tile_around_the_pipeline() -> Any:
    """The first tile is copied before the loop, each turn copies the next, and one more behind."""

    @T.prim_func
    def kernel(A: T.Tensor((5, ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="sum")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            T.copy(A[0, 0:ROWS, 0:COLUMNS], tile)
            for k in T.Pipelined(3, num_stages=2):
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], tile[i, j])
                T.copy(A[k + 1, 0:ROWS, 0:COLUMNS], tile)
            for i, j in T.Parallel(ROWS, COLUMNS):
                T.reducer_update(acc[i], tile[i, j])
            T.copy(A[4, 0:ROWS, 0:COLUMNS], tile)
            for i, j in T.Parallel(ROWS, COLUMNS):
                T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def tile_of_two_tensors() -> Any:
    """Each turn copies a tile of one tensor, reads it, and copies one of another to its place."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, ROWS, COLUMNS), "float32"),
        C: T.Tensor((4, ROWS, COLUMNS), "float32"),
        B: T.Tensor((ROWS,), "float32"),
    ):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="sum")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:ROWS, 0:COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], tile[i, j])
                T.copy(C[k, 0:ROWS, 0:COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], 2 * tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def masked_turns() -> Any:
    """Only some turns copy a tile, and read it."""

    @T.prim_func
    def kernel(
        A: T.Tensor((5, ROWS, COLUMNS), "float32"),
        M: T.Tensor((5,), "int32"),
        B: T.Tensor((ROWS,), "float32"),
    ):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="sum")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(5, num_stages=2):
                if M[k] > 0:
                    T.copy(A[k, 0:ROWS, 0:COLUMNS], tile)
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def two_pipelines_of_one_tile(stages: int = 2) -> Any:
    """The maxima of rows, then the sums of what is below them, through the same tile.

    `stages` are those of the second loop; the first has 2.
    """

    @T.prim_func
    def kernel(A: T.Tensor((3, ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((ROWS, COLUMNS), "float32")
            top = T.alloc_reducer((ROWS,), "float32", op="max")
            top_r = T.alloc_fragment((ROWS,), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="sum")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(top)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[k, 0:ROWS, 0:COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(top[i], tile[i, j])
            T.finalize_reducer(top, top_r)
            T.reducer_init(acc)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[k, 0:ROWS, 0:COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], top_r[i] - tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def accumulated_then_reduced() -> Any:
    """A pipeline without updates, as of a matrix product, and its tile used again behind it."""

    @T.prim_func
    def kernel(A: T.Tensor((4, ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((ROWS, COLUMNS), "float32")
            total = T.alloc_fragment((ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32", op="sum")
            T.clear(total)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:ROWS, 0:COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    total[i, j] = total[i, j] + tile[i, j]
            for i, j in T.Parallel(ROWS, COLUMNS):
                tile[i, j] = total[i, j] * total[i, j]
            T.reducer_init(acc)
            for i, j in T.Parallel(ROWS, COLUMNS):
                T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, B)

    return kernel


def _selected(rng: np.random.Generator) -> Arrays:
    (tiles,) = integers((5, ROWS, COLUMNS))(rng)
    return tiles, np.array([1, 0, 1, 1, 0], np.int32)


def _below(a: np.ndarray) -> np.ndarray:
    return (a.max((0, 2))[None, :, None] - a).sum((0, 2))


def _tiles(turns: int, width: int) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        (before,) = integers((3, 8, width), low=-40, high=41)(rng)
        (y,) = integers((3, turns, ROWS, 4), low=1, dtype="int16")(rng)
        (z,) = integers((3, turns, ROWS, 4))(rng)
        return before, y, z

    return make


def _maxima(before: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    found = (y * z).max((1, 3))
    found[:, 3] = np.maximum(found[:, 3], before.max((1, 2)))
    return found


def cases() -> list[Case]:
    item = "updates in serial loops inside and outside, epochs in loops"
    found = [
        Case(
            f"epoch_of_copies_in_each_turn_{dtype}",
            item,
            lambda dtype=dtype: _epoch_in_each_turn(dtype),
            integers((3, 2, ROWS, COLUMNS), low=0, high=100, dtype=dtype),
            lambda a: np.bitwise_xor.reduce(np.bitwise_xor.reduce(a, 2), 1),
            ((3, COLUMNS), dtype),
        )
        for dtype in ("int8", "int32")
    ]
    found.append(
        Case(
            "slices_of_a_tile_in_each_turn",
            item,
            slices_of_a_tile,
            integers((3, 2, ROWS, COLUMNS)),
            lambda a: a.sum((0, 1, 3)),
            ((ROWS,), "float32"),
        )
    )
    found.append(
        Case(
            "normalized_through_one_tile",
            item,
            normalized_through_one_tile,
            integers((ROWS, 256)),
            lambda a: a - a.sum(1, keepdims=True),
            ((ROWS, 256), "float32"),
        )
    )
    item = "streaming pipelined GEMV with one final collective"
    output = ((ROWS,), "float32")
    tensors = integers((4, ROWS, COLUMNS), (4, ROWS, COLUMNS))
    found += [
        Case(
            "tile_around_a_pipeline",
            item,
            tile_around_the_pipeline,
            integers((5, ROWS, COLUMNS)),
            lambda a: a.sum((0, 2)),
            output,
        ),
        Case(
            "tile_of_two_tensors",
            item,
            tile_of_two_tensors,
            tensors,
            lambda a, c: (a + 2 * c).sum((0, 2)),
            output,
        ),
        Case(
            "masked_turns",
            item,
            masked_turns,
            _selected,
            lambda a, m: a[m > 0].sum((0, 2)),
            output,
        ),
        Case(
            "two_pipelines_of_one_tile",
            item,
            two_pipelines_of_one_tile,
            integers((3, ROWS, COLUMNS)),
            _below,
            output,
        ),
        Case(
            "two_pipelines_of_one_tile_and_other_stages",
            item,
            lambda: two_pipelines_of_one_tile(3),
            integers((3, ROWS, COLUMNS)),
            _below,
            output,
        ),
        Case(
            "accumulated_then_reduced",
            item,
            accumulated_then_reduced,
            integers((4, ROWS, COLUMNS)),
            lambda a: (a.sum(0) ** 2).sum(1),
            output,
        ),
    ]
    found += [
        Case(
            f"tile_before_a_pipeline_{turns}_{width}",
            "full CTA, offset consumer range",
            lambda turns=turns, width=width: tile_before_the_pipeline(turns, width),
            _tiles(turns, width),
            _maxima,
            ((3, ROWS), "float32"),
        )
        for turns, width in ((5, 8), (4, 24), (3, 64))
    ]
    return found
