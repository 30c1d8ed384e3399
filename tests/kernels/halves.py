"""Reducers of 16-bit floats over runs of neighbours, which a thread may take in pairs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Arrays, Case, numpy_dtype

OPS = ("sum", "prod", "max", "min")
DTYPES = ("float16", "bfloat16")
#: Rows and columns of a tile: long runs, runs of all columns, short runs, and odd ones.
TILES = ((16, 128), (8, 256), (32, 8), (5, 24), (8, 96), (3, 9))
_NUMPY = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def rows(op: str, dtype: str, tile: tuple[int, int], tiles: int, weighted: bool) -> Any:
    """Reduce the rows of one tile after another, times a weight for each column where wanted."""
    bm, bn = tile

    @T.prim_func
    def plain(A: T.Tensor((bm, tiles * bn), dtype), y: T.Tensor((bm,), dtype)):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((bm, bn), dtype)
            acc = T.alloc_reducer((bm,), dtype, op=op)
            result = T.alloc_fragment((bm,), dtype)
            T.reducer_init(acc)
            for k in T.serial(tiles):
                T.copy(A[0, k * bn], A_s)
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[i], A_s[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    @T.prim_func
    def products(
        A: T.Tensor((bm, tiles * bn), dtype),
        x: T.Tensor((tiles * bn,), dtype),
        y: T.Tensor((bm,), dtype),
    ):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((bm, bn), dtype)
            x_s = T.alloc_shared((bn,), dtype)
            acc = T.alloc_reducer((bm,), dtype, op=op)
            result = T.alloc_fragment((bm,), dtype)
            T.reducer_init(acc)
            for k in T.serial(tiles):
                T.copy(A[0, k * bn], A_s)
                T.copy(x[k * bn], x_s)
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[i], A_s[i, j] * x_s[j])
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return products if weighted else plain


def _inputs(
    op: str, dtype: str, shape: tuple[int, int], weighted: bool, rng: np.random.Generator
) -> Arrays:
    """Values whose result is exact in any order: small integers, and few factors that are not 1."""
    values = rng.integers(-3, 4, shape).astype(np.float64)
    weights = rng.choice([-1.0, 1.0], shape[1])
    if op == "prod":
        values = np.ones(shape)
        for factor in (2.0, -1.0, 4.0):
            values[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] *= factor
    if op == "sum":
        values *= rng.random(shape) < 64 / shape[1]
    arrays = (values, weights) if weighted else (values,)
    return tuple(array.astype(numpy_dtype(dtype)) for array in arrays)


def _expected(op: str, a: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
    return np.asarray(_NUMPY[op](a if x is None else a * x, axis=1))


def halves(op: str, dtype: str, tile: tuple[int, int], weighted: bool = False) -> Case:
    """A reduction of rows over two tiles."""
    shape = (tile[0], 2 * tile[1])
    return Case(
        f"{op}_{dtype}_{tile[0]}x{tile[1]}{'_weighted' if weighted else ''}",
        "16-bit floats in runs",
        functools.partial(rows, op, dtype, tile, 2, weighted),
        functools.partial(_inputs, op, dtype, shape, weighted),
        functools.partial(_expected, op),
        ((tile[0],), dtype),
    )


def cases() -> list[Case]:
    weighted = [halves(op, dtype, (16, 128), weighted=True) for op in OPS for dtype in DTYPES]
    plain = [halves(op, "float16", tile) for op in ("sum", "max") for tile in TILES]
    return weighted + plain
