"""Integers of 8 to 64 bits, with a sign and without: every op, its identity, and how it wraps.

Row 0 contributes everything, row 1 a part, row 2 one value and row 3 nothing, which is the
identity: all bits for bitand, 0 for the max and all bits for the min of unsigned integers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Arrays, Case

DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ROWS, COLUMNS, THREADS = 4, 64, 128


@T.macro
def from_memory(A, M, B, dtype, op, line):
    """Predicated updates from global memory."""
    acc = T.alloc_reducer((ROWS,), dtype, op=op)
    result = T.alloc_fragment((ROWS,), dtype)
    T.reducer_init(acc)
    for i, j in T.Parallel(ROWS, COLUMNS):
        if M[i, j] > 0:
            T.reducer_update(acc[i], A[i, j])
    T.finalize_reducer(acc, result)
    for i in T.Parallel(ROWS):
        B[line, i] = result[i]


def chosen(dtype: str) -> Any:
    """Every op over the elements that a mask chooses."""

    @T.prim_func
    def kernel(
        A: T.Tensor((ROWS, COLUMNS), dtype),
        M: T.Tensor((ROWS, COLUMNS), "int32"),
        B: T.Tensor((6, ROWS), dtype),
    ):
        with T.Kernel(1, threads=THREADS):
            from_memory(A, M, B, dtype, "sum", 0)
            from_memory(A, M, B, dtype, "max", 1)
            from_memory(A, M, B, dtype, "min", 2)
            from_memory(A, M, B, dtype, "bitand", 3)
            from_memory(A, M, B, dtype, "bitor", 4)
            from_memory(A, M, B, dtype, "bitxor", 5)

    return kernel


def product(dtype: str) -> Any:
    """The op that TileLang's own reducers do not have."""

    @T.prim_func
    def kernel(
        A: T.Tensor((ROWS, COLUMNS), dtype),
        M: T.Tensor((ROWS, COLUMNS), "int32"),
        B: T.Tensor((1, ROWS), dtype),
    ):
        with T.Kernel(1, threads=THREADS):
            from_memory(A, M, B, dtype, "prod", 0)

    return kernel


@T.macro
def from_fragment(values, B, dtype, op, line):
    """Updates from registers, whose layout TileLang chooses."""
    acc = T.alloc_reducer((ROWS,), dtype, op=op)
    result = T.alloc_fragment((ROWS,), dtype)
    T.reducer_init(acc)
    for i, j in T.Parallel(ROWS, COLUMNS):
        T.reducer_update(acc[i], values[i, j])
    T.finalize_reducer(acc, result)
    for i in T.Parallel(ROWS):
        B[line, i] = result[i]


def held(dtype: str) -> Any:
    """Every op over one fragment, where partials may combine by shuffles."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), dtype), B: T.Tensor((6, ROWS), dtype)):
        with T.Kernel(1, threads=THREADS):
            values = T.alloc_fragment((ROWS, COLUMNS), dtype)
            T.copy(A, values)
            from_fragment(values, B, dtype, "sum", 0)
            from_fragment(values, B, dtype, "max", 1)
            from_fragment(values, B, dtype, "min", 2)
            from_fragment(values, B, dtype, "bitand", 3)
            from_fragment(values, B, dtype, "bitor", 4)
            from_fragment(values, B, dtype, "bitxor", 5)

    return kernel


def seeded(dtype: str) -> Any:
    """Seeds at the ends of the dtype, which a narrower constant would not hold."""
    greatest, least = int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)

    @T.prim_func
    def kernel(A: T.Tensor((COLUMNS,), dtype), B: T.Tensor((2,), dtype)):
        with T.Kernel(1, threads=THREADS):
            low = T.alloc_reducer((1,), dtype, op="min")
            high = T.alloc_reducer((1,), dtype, op="max")
            lowest = T.alloc_fragment((1,), dtype)
            highest = T.alloc_fragment((1,), dtype)
            T.reducer_init(low, least)
            T.reducer_init(high, greatest)
            for i in T.Parallel(COLUMNS):
                T.reducer_update(low[0], A[i])
                T.reducer_update(high[0], A[i])
            T.finalize_reducer(low, lowest)
            T.finalize_reducer(high, highest)
            for i in T.Parallel(1):
                B[0] = lowest[i]
                B[1] = highest[i]

    return kernel


def _whole_range(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Odd values of all magnitudes: products of them stay odd, so that wrapping shows."""
    bounds = np.iinfo(dtype)
    return rng.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True) | np.array(
        1, dtype
    )


def _masked(dtype: str, rng: np.random.Generator) -> Arrays:
    mask = np.zeros((ROWS, COLUMNS), "int32")
    mask[0] = 1
    mask[1, rng.permutation(COLUMNS)[: COLUMNS // 3]] = 1
    mask[2, COLUMNS - 1] = 1
    return _whole_range(dtype, (ROWS, COLUMNS), rng), mask


def _every_op(a: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    bounds, chosen_here = np.iinfo(a.dtype), np.ones(a.shape) if mask is None else mask
    identities = {
        np.add: 0,
        np.maximum: bounds.min,
        np.minimum: bounds.max,
        np.bitwise_and: -1 if bounds.min else bounds.max,
        np.bitwise_or: 0,
        np.bitwise_xor: 0,
    }
    rows = [np.where(chosen_here > 0, a, np.array(one, a.dtype)) for one in identities.values()]
    return np.stack(
        [functools.reduce(combine, row.T) for combine, row in zip(identities, rows, strict=True)]
    )


def _product(a: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.multiply.reduce(np.where(mask > 0, a, np.array(1, a.dtype)), 1, a.dtype)


def cases() -> list[Case]:
    found = []
    for dtype in DTYPES:
        found += [
            Case(
                f"every_op_where_{dtype}",
                "every dtype and op",
                functools.partial(chosen, dtype),
                functools.partial(_masked, dtype),
                _every_op,
                ((6, ROWS), dtype),
            ),
            Case(
                f"product_of_{dtype}",
                "every dtype and op",
                functools.partial(product, dtype),
                functools.partial(_masked, dtype),
                _product,
                ((1, ROWS), dtype),
            ),
            Case(
                f"every_op_of_a_fragment_{dtype}",
                "every dtype and op",
                functools.partial(held, dtype),
                lambda rng, dtype=dtype: (_whole_range(dtype, (ROWS, COLUMNS), rng),),
                _every_op,
                ((6, ROWS), dtype),
            ),
            Case(
                f"seeds_at_the_ends_of_{dtype}",
                "every dtype and op",
                functools.partial(seeded, dtype),
                lambda rng, dtype=dtype: (_whole_range(dtype, (COLUMNS,), rng),),
                lambda a: np.array([np.iinfo(a.dtype).min, np.iinfo(a.dtype).max], a.dtype),
                ((2,), dtype),
            ),
        ]
    return found
