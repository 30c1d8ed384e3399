"""Any tile on any number of threads: row sums whose operands come from everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers

#: Thread counts and tiles of the wide baseline's promise.
THREADS = (32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512)
TILES = (
    (1, 8),
    (4, 24),
    (5, 7),
    (8, 96),
    (3, 100),
    (16, 48),
    (8, 128),
    (16, 16),
    (2, 7),
    (32, 128),
)


def row_sum(rows: int, columns: int, threads: int, source: str = "global") -> Any:
    """A row sum of one tile, its operands in `source`: global, shared or fragment."""

    @T.prim_func
    def from_global(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((rows,), "float32")
            result = T.alloc_fragment((rows,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, columns):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    @T.prim_func
    def from_shared(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((rows, columns), "float32")
            acc = T.alloc_reducer((rows,), "float32")
            result = T.alloc_fragment((rows,), "float32")
            T.copy(A, tile)
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, columns):
                T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    @T.prim_func
    def from_fragment(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_fragment((rows, columns), "float32")
            acc = T.alloc_reducer((rows,), "float32")
            result = T.alloc_fragment((rows,), "float32")
            T.copy(A, tile)
            T.reducer_init(acc)
            for i, j in T.Parallel(rows, columns):
                T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return {"global": from_global, "shared": from_shared, "fragment": from_fragment}[source]


def _case(rows: int, columns: int, threads: int, source: str) -> Case:
    return Case(
        f"row_sum_{rows}x{columns}_{threads}_{source}",
        "non-dividing GEMV tile widths",
        lambda: row_sum(rows, columns, threads, source),
        integers((rows, columns)),
        lambda a: np.asarray(a.sum(axis=1)),
        ((rows,), "float32"),
    )


def every_pair() -> list[Case]:
    """One case for each pair of thread count and tile."""
    return [_case(*tile, threads, "global") for threads in THREADS for tile in TILES]


def cases() -> list[Case]:
    picked = ((8, 96, 128), (3, 100, 128), (16, 48, 96), (5, 7, 192), (4, 24, 384), (32, 128, 160))
    found = [_case(*pick, "global") for pick in picked]
    found += [_case(*pick, "shared") for pick in ((8, 96, 128), (3, 100, 96), (8, 128, 256))]
    found += [
        _case(*pick, "fragment")
        for pick in ((8, 96, 128), (16, 16, 32), (8, 128, 256), (64, 64, 128))
    ]
    return found
