"""The kernels that the RM3xx ranges were established with, in v1 and in shipped v2 spelling.

Every function returns a `tilelang` PrimFunc; nothing is compiled here. All contributions read
`A` and all results go to `B`, so that one pair of arrays tells what was counted.
"""

# ruff: noqa: N803, N812 -- TileLang code names tensors and the language in upper case

from __future__ import annotations

from typing import Any

import tilelang.language as T


def one_output(threads: int, tile: tuple[int, int], op: str = "sum", dtype: str = "float32") -> Any:
    """Combine an M x N tile of global memory into one output."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), B: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), dtype, op=op, replication="all")
            T.clear(acc)
            for i, j in T.Parallel(m, n):
                if op == "sum":
                    acc[0] += A[i, j]
                elif op == "max":
                    acc[0] = T.max(acc[0], A[i, j])
                else:
                    acc[0] = T.min(acc[0], A[i, j])
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def row_sums(threads: int, tile: tuple[int, int], batch: int = 1) -> Any:
    """Sum the rows of an M x N tile of global memory; `batch` goes to the finalize."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((m,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(m, n):
                acc[i] += A[i, j]
            if batch == 1:
                T.finalize_reducer(acc)
            else:
                T.finalize_reducer(acc, batch=batch)
            T.copy(acc, B)

    return kernel


def unreplicated(threads: int, tile: tuple[int, int]) -> Any:
    """Row sums with `replication="none"`."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((m,), "float32", op="sum", replication="none")
            T.clear(acc)
            for i, j in T.Parallel(m, n):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def through_fragment(threads: int, tile: tuple[int, int]) -> Any:
    """Row sums whose contributions read a fragment that a copy filled."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            T.copy(A, held)
            acc = T.alloc_reducer((m,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(m, n):
                acc[i] += held[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def of_reduced_fragment(threads: int, tile: tuple[int, int]) -> Any:
    """Sum, over rows, of a fragment that `T.reduce_max` filled from an M x N tile."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            top = T.alloc_fragment((m,), "float32")
            T.copy(A, held)
            T.reduce_max(held, top, dim=1)
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(m):
                acc[0] += top[i]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def of_row_sums(threads: int, tile: tuple[int, int], dtype: str = "float32") -> Any:
    """Sum, over rows, of the row sums that another reducer made of an M x N tile of fragments."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), dtype)
            T.copy(A, held)
            sums = T.alloc_reducer((m,), "float32", op="sum", replication="all")
            T.clear(sums)
            for i, j in T.Parallel(m, n):
                sums[i] += T.cast(held[i, j], "float32")
            T.finalize_reducer(sums)
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(m):
                acc[0] += sums[i]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def of_row_scales(threads: int, tile: tuple[int, int]) -> Any:
    """Sum of a fragment that a loop over rows and columns of another one has scaled it by."""
    m, n = tile

    @T.prim_func
    def kernel(
        A: T.Tensor((m, n), "float32"),
        S: T.Tensor((m,), "float32"),
        C: T.Tensor((m, n), "float32"),
        B: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            scale = T.alloc_fragment((m,), "float32")
            T.copy(A, held)
            T.copy(S, scale)
            for i, j in T.Parallel(m, n):
                held[i, j] = held[i, j] * scale[i]
            T.copy(held, C)
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(m):
                acc[0] += scale[i]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def two_sites(threads: int, widths: tuple[int, int]) -> Any:
    """Two sites of different widths that contribute to one output."""
    first, second = widths

    @T.prim_func
    def kernel(A: T.Tensor((first + second,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(first):
                acc[0] += A[i]
            for i in T.Parallel(second):
                acc[0] += A[first + i]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def serial_inside(threads: int, width: int, depth: int) -> Any:
    """A serial loop inside the parallel one."""

    @T.prim_func
    def kernel(A: T.Tensor((width, depth), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(width):
                for j in T.serial(depth):
                    acc[0] += A[i, j]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def beside_fragment_write(threads: int, width: int) -> Any:
    """An update in a loop that also writes an ordinary fragment."""

    @T.prim_func
    def kernel(A: T.Tensor((width,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            doubled = T.alloc_fragment((width,), "float32")
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(width):
                doubled[i] = A[i] * 2.0
                acc[0] += A[i]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def staged(threads: int, width: int) -> Any:
    """A copy through shared memory, with no reducer at all."""

    @T.prim_func
    def kernel(A: T.Tensor((width,), "float16"), B: T.Tensor((width,), "float16")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_shared((width,), "float16")
            T.copy(A, held)
            T.copy(held, B)

    return kernel


def nothing_parallel(threads: int) -> Any:
    """A reducer that is opened and closed and never updated in `T.Parallel`."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0] + A[0]

    return kernel


def serial_update(threads: int) -> Any:
    """A reducer updated in a serial loop only."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.serial(8):
                acc[0] += A[i]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def gemv(threads: int, tile: tuple[int, int], steps: int = 4, stages: int = 2) -> Any:
    """A pipelined matrix-vector product over tiles staged in shared memory."""
    m, n = tile

    @T.prim_func
    def kernel(
        A: T.Tensor((m, n * steps), "float16"),
        X: T.Tensor((n * steps,), "float16"),
        B: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            tile_a = T.alloc_shared((m, n), "float16")
            tile_x = T.alloc_shared((n,), "float16")
            acc = T.alloc_reducer((m,), "float32", op="sum", replication="all")
            T.clear(acc)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(A[0, k * n], tile_a)
                T.copy(X[k * n], tile_x)
                for i, j in T.Parallel(m, n):
                    acc[i] += T.cast(tile_a[i, j], "float32") * T.cast(tile_x[j], "float32")
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def one_output_v2(threads: int, tile: tuple[int, int], op: str = "sum") -> Any:
    """`one_output` in shipped v2 spelling."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op=op)
            total = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(m, n):
                T.reducer_update(acc[0], A[i, j])
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def row_sums_v2(threads: int, tile: tuple[int, int], batch: int = 1) -> Any:
    """`row_sums` in shipped v2 spelling."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((m,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((m,), "float32", op="sum")
            total = T.alloc_fragment((m,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(m, n):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, total, batch=batch)
            T.copy(total, B)

    return kernel


def nothing_parallel_v2(threads: int) -> Any:
    """`nothing_parallel` in shipped v2 spelling."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="sum")
            total = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def gemv_v2(threads: int, tile: tuple[int, int], steps: int = 4, stages: int = 2) -> Any:
    """`gemv` in shipped v2 spelling."""
    m, n = tile

    @T.prim_func
    def kernel(
        A: T.Tensor((m, n * steps), "float16"),
        X: T.Tensor((n * steps,), "float16"),
        B: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            tile_a = T.alloc_shared((m, n), "float16")
            tile_x = T.alloc_shared((n,), "float16")
            acc = T.alloc_reducer((m,), "float32", op="sum")
            total = T.alloc_fragment((m,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(A[0, k * n], tile_a)
                T.copy(X[k * n], tile_x)
                for i, j in T.Parallel(m, n):
                    T.reducer_update(
                        acc[i], T.cast(tile_a[i, j], "float32") * T.cast(tile_x[j], "float32")
                    )
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def elementwise(threads: int, width: int) -> Any:
    """One contribution to each of `width` outputs, indexed by the parallel variable itself."""

    @T.prim_func
    def kernel(A: T.Tensor((width,), "float32"), B: T.Tensor((width,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((width,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(width):
                acc[i] += A[i]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def nested_parallel(threads: int, tile: tuple[int, int]) -> Any:
    """The tile as two nested one-axis parallel loops, inside a serial loop of two rounds."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((2, m, n), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for k in T.serial(2):
                for i in T.Parallel(m):
                    for j in T.Parallel(n):
                        acc[0] += A[k, i, j]
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def reduced_into(threads: int, replication: str = "all") -> Any:
    """A reducer that only `T.reduce_sum` writes."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((8,), "float32")
            T.copy(A, held)
            acc = T.alloc_reducer((1,), "float32", op="sum", replication=replication)
            T.clear(acc)
            T.reduce_sum(held, acc, dim=0, clear=False)
            T.finalize_reducer(acc)
            if T.get_thread_binding() == 0:
                B[0] = acc[0]

    return kernel


def of_row_maxima_v2(
    threads: int, tile: tuple[int, int], op: str = "sum", shared: bool = False
) -> Any:
    """`of_reduced_fragment` in shipped v2 spelling, through shared memory or not."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            top = T.alloc_fragment((m,), "float32")
            rows = T.alloc_shared((m,), "float32")
            T.copy(A, held)
            T.reduce_max(held, top, dim=1)
            acc = T.alloc_reducer((1,), "float32", op=op)
            total = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            if shared:
                T.copy(top, rows)
                for i in T.Parallel(m):
                    T.reducer_update(acc[0], rows[i])
            else:
                for i in T.Parallel(m):
                    T.reducer_update(acc[0], top[i])
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def of_row_sums_v2(threads: int, tile: tuple[int, int], dtype: str = "float32") -> Any:
    """`of_row_sums` in shipped v2 spelling."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), dtype)
            T.copy(A, held)
            sums = T.alloc_reducer((m,), "float32", op="sum")
            row_sums = T.alloc_fragment((m,), "float32")
            T.reducer_init(sums)
            for i, j in T.Parallel(m, n):
                T.reducer_update(sums[i], T.cast(held[i, j], "float32"))
            T.finalize_reducer(sums, row_sums)
            acc = T.alloc_reducer((1,), "float32", op="sum")
            total = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(m):
                T.reducer_update(acc[0], row_sums[i])
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def of_small_tile(threads: int, tile: tuple[int, int], kept: str = "rows") -> Any:
    """Sums of a tile of fragments over its columns, its rows, or both, in v1 spelling."""
    m, n = tile
    outputs = {"rows": m, "columns": n, "": 1}[kept]

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((outputs,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            T.copy(A, held)
            acc = T.alloc_reducer((outputs,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(m, n):
                if kept == "rows":
                    acc[i] += held[i, j]
                elif kept == "columns":
                    acc[j] += held[i, j]
                else:
                    acc[0] += held[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def of_small_tile_v2(
    threads: int, tile: tuple[int, int], kept: str = "rows", shared: bool = False
) -> Any:
    """`of_small_tile` in shipped v2 spelling, read through shared memory or not."""
    m, n = tile
    outputs = {"rows": m, "columns": n, "": 1}[kept]

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor((outputs,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            again = T.alloc_shared((m, n), "float32")
            T.copy(A, held)
            acc = T.alloc_reducer((outputs,), "float32", op="sum")
            total = T.alloc_fragment((outputs,), "float32")
            T.reducer_init(acc)
            if shared:
                T.copy(held, again)
                for i, j in T.Parallel(m, n):
                    T.reducer_update(acc[i], again[i, j])
            else:
                for i, j in T.Parallel(m, n):
                    if kept == "rows":
                        T.reducer_update(acc[i], held[i, j])
                    elif kept == "columns":
                        T.reducer_update(acc[j], held[i, j])
                    else:
                        T.reducer_update(acc[0], held[i, j])
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def beside_pipeline_v2(threads: int, stages: int, place: str) -> Any:
    """64 sums of 4 pipelined tiles of 16 x 64 and of 8 rows before the pipeline, or after it."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 16, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=threads):
            shared = T.alloc_shared((16, 64), "float32")
            acc = T.alloc_reducer((64,), "float32")
            result = T.alloc_fragment((64,), "float32")
            T.reducer_init(acc)
            if place == "before":
                for i, j in T.Parallel(8, 64):
                    T.reducer_update(acc[j], A[0, i, j])
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k, 0:16, 0:64], shared)
                for i, j in T.Parallel(16, 64):
                    T.reducer_update(acc[j], shared[i, j])
            if place == "after":
                for i, j in T.Parallel(8, 64):
                    T.reducer_update(acc[j], A[0, i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def into_part_v2(threads: int, scope: str, start: int) -> Any:
    """8 sums of 16 ones, finalized into 8 elements of 24 that begin at `start`."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 8), "float32"), B: T.Tensor((24,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((8,), "float32")
            out = (
                T.alloc_fragment((24,), "float32")
                if scope == "fragment"
                else T.alloc_shared((24,), "float32")
            )
            T.clear(out)
            T.reducer_init(acc)
            for i, j in T.Parallel(16, 8):
                T.reducer_update(acc[j], A[i, j])
            T.finalize_reducer(acc, out[start : start + 8])
            T.copy(out, B)

    return kernel


def into_row_v2(threads: int) -> Any:
    """8 sums, finalized into the second row of 3."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 8), "float32"), B: T.Tensor((3, 8), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(16, 8):
                T.reducer_update(acc[j], A[i, j])
            T.finalize_reducer(acc, B[1, 0:8])

    return kernel


def epochs_in_pipeline(threads: int, stages: int) -> Any:
    """The sums of 8 rows of 64, each an epoch in a turn of a pipelined loop, in v1 spelling."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=threads):
            row = T.alloc_shared((64,), "float32")
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            for k in T.Pipelined(8, num_stages=stages):
                T.clear(acc)
                T.copy(A[k, 0:64], row)
                for i in T.Parallel(64):
                    acc[0] += row[i]
                T.finalize_reducer(acc)
                T.copy(acc, B[k : k + 1])

    return kernel


def epochs_in_pipeline_v2(threads: int, stages: int, opened: str = "first") -> Any:
    """`epochs_in_pipeline` in shipped v2 spelling.

    `opened` says where: first in the turn, after the copy, with a seed of 0, or in a serial loop.
    """

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=threads):
            row = T.alloc_shared((64,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for k in T.Pipelined(8, num_stages=stages):
                if opened == "first":
                    T.reducer_init(acc)
                T.copy(A[k, 0:64], row)
                if opened == "after the copy":
                    T.reducer_init(acc)
                if opened == "with a seed":
                    T.reducer_init(acc, 0)
                if opened != "in a loop":
                    for i in T.Parallel(64):
                        T.reducer_update(acc[0], row[i])
                    T.finalize_reducer(acc, total)
                    T.copy(total, B[k : k + 1])
                else:
                    for _ in T.serial(2):
                        T.reducer_init(acc)
                        for i in T.Parallel(64):
                            T.reducer_update(acc[0], row[i])
                        T.finalize_reducer(acc, total)
                        T.copy(total, B[k : k + 1])

    return kernel


def epochs_around_pipelines_v2(threads: int, stages: int) -> Any:
    """The sums of 8 rows of 64, each an epoch around a pipelined loop."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=threads):
            half = T.alloc_shared((32,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for r in T.serial(8):
                T.reducer_init(acc)
                for k in T.Pipelined(2, num_stages=stages):
                    T.copy(A[r, k * 32 : k * 32 + 32], half)
                    for i in T.Parallel(32):
                        T.reducer_update(acc[0], half[i])
                T.finalize_reducer(acc, total)
                T.copy(total, B[r : r + 1])

    return kernel


def two_places_v2(threads: int, outputs: int, last: str) -> Any:
    """Four contributions to each output, and all of them to the first one too, in one loop."""

    @T.prim_func
    def kernel(A: T.Tensor((outputs, 4), "float32"), B: T.Tensor((outputs,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((outputs,), "float32")
            result = T.alloc_fragment((outputs,), "float32")
            T.reducer_init(acc)
            for i, k in T.Parallel(outputs, 4):
                if last == "its own":
                    T.reducer_update(acc[0], A[i, k])
                T.reducer_update(acc[i], A[i, k])
                if last == "the first":
                    T.reducer_update(acc[0], A[i, k])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def epoch_behind_pipeline_v2(threads: int, source: str) -> Any:
    """64 sums of 16 ones, in an epoch behind a pipelined loop that has none."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 16, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((16, 64), "float32")
            total = T.alloc_fragment((16, 64), "float32")
            held = T.alloc_fragment((16, 64), "float32")
            acc = T.alloc_reducer((64,), "float32")
            result = T.alloc_fragment((64,), "float32")
            T.clear(total)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:16, 0:64], tile)
                for i, j in T.Parallel(16, 64):
                    total[i, j] += tile[i, j]
            T.reducer_init(acc)
            if source == "fragment":
                T.copy(A[0, 0:16, 0:64], held)
                for i, j in T.Parallel(16, 64):
                    T.reducer_update(acc[j], held[i, j] + total[i, j])
            else:
                for i, j in T.Parallel(16, 64):
                    T.reducer_update(acc[j], A[0, i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def two_places_of_fragments_v2(threads: int, last: str) -> Any:
    """Sums of the columns of a 32x4 fragment, and all of it once more in the first of them."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 4), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_fragment((32, 4), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(acc)
            T.copy(A, tile)
            for i, j in T.Parallel(32, 4):
                if last == "its own":
                    T.reducer_update(acc[0], tile[i, j])
                T.reducer_update(acc[j], tile[i, j])
                if last == "the first":
                    T.reducer_update(acc[0], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def sums_in_pipeline_v2(threads: int, tile: tuple[int, ...], kept: str, source: str) -> Any:
    """The sums of a tile of ones in each turn of a pipelined loop: of its rows, columns, or all.

    `source` says whether the updates read shared memory or a fragment.
    """
    m, n = tile
    shape = {"rows": (m,), "columns": (n,), "": (1,)}[kept]

    @T.prim_func
    def kernel(A: T.Tensor((4, m, n), "float32"), B: T.Tensor((4, *shape), "float32")):
        with T.Kernel(1, threads=threads):
            shared = T.alloc_shared((m, n), "float32")
            held = T.alloc_fragment((m, n), "float32")
            acc = T.alloc_reducer(shape, "float32")
            result = T.alloc_fragment(shape, "float32")
            for k in T.Pipelined(4, num_stages=2):
                T.reducer_init(acc)
                T.copy(A[k, 0:m, 0:n], shared)
                if source == "fragment":
                    T.copy(shared, held)
                for i, j in T.Parallel(m, n):
                    value = held[i, j] if source == "fragment" else shared[i, j]
                    if kept == "rows":
                        T.reducer_update(acc[i], value)
                    elif kept == "columns":
                        T.reducer_update(acc[j], value)
                    else:
                        T.reducer_update(acc[0], value)
                T.finalize_reducer(acc, result)
                T.copy(result, B[k, 0 : shape[0]])

    return kernel


def withheld_v2(threads: int, what: str, place: str, stages: int = 2) -> Any:
    """24 sums of 16 ones in each of 4 turns of a pipelined loop, with something of global memory.

    `what` is a `seed` of 1, or a `copy` to a fragment of as many ones; `place` says whether it
    stands before or behind the first read of the tile.
    """

    @T.prim_func
    def kernel(A: T.Tensor((4, 24, 16), "float32"), B: T.Tensor((4, 24), "float32")):
        with T.Kernel(1, threads=threads):
            shared = T.alloc_shared((24, 16), "float32")
            tile = T.alloc_fragment((24, 16), "float32")
            held = T.alloc_fragment((24, 16), "float32")
            acc = T.alloc_reducer((24,), "float32")
            sums = T.alloc_fragment((24,), "float32")
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k, 0:24, 0:16], shared)
                if place == "behind":
                    T.copy(shared, tile)
                if what == "seed":
                    T.reducer_init(acc, A[k, 0, 0])
                else:
                    T.copy(A[k, 0:24, 0:16], held)
                if place == "before":
                    T.copy(shared, tile)
                if what == "copy":
                    T.reducer_init(acc)
                for i, j in T.Parallel(24, 16):
                    if what == "copy":
                        T.reducer_update(acc[i], tile[i, j] * held[i, j])
                    else:
                        T.reducer_update(acc[i], tile[i, j])
                T.finalize_reducer(acc, sums)
                T.copy(sums, B[k, 0:24])

    return kernel


def withheld_updates_v2(threads: int, place: str, stages: int = 2) -> Any:
    """A sum of 4 times 128 ones of a tile, and of as many of global memory before or behind it."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 128), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            shared = T.alloc_shared((128,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k, 0:128], shared)
                if place == "before":
                    for i in T.Parallel(128):
                        T.reducer_update(acc[0], A[k, i])
                for i in T.Parallel(128):
                    T.reducer_update(acc[0], shared[i])
                if place == "behind":
                    for i in T.Parallel(128):
                        T.reducer_update(acc[0], A[k, i])
            T.finalize_reducer(acc, total)
            T.copy(total, B)

    return kernel


def repeated_v2(threads: int, op: str, outputs: int, stages: int = 2) -> Any:
    """32 ones, which a fragment holds, combined into each of 64 outputs in 4 turns of a pipeline.

    Of more `outputs` than 64 the others get nothing.
    """

    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((outputs,), "float32")):
        with T.Kernel(1, threads=threads):
            shared = T.alloc_shared((32,), "float32")
            held = T.alloc_fragment((32,), "float32")
            acc = T.alloc_reducer((outputs,), "float32", op=op)
            result = T.alloc_fragment((outputs,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k, 0:32], shared)
                T.copy(shared, held)
                for i, j in T.Parallel(32, 64):
                    T.reducer_update(acc[j], held[i])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def small_fragment_beside_memory_v2(threads: int, memory: bool, use: str) -> Any:
    """The sum of 32 ones that a fragment holds, stored where `use` says; each of B's is 32 or 0.

    `memory` multiplies them by ones of global memory.
    """

    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((32,), "float32")
            acc = T.alloc_reducer((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.clear(B)
            T.copy(A, held)
            T.reducer_init(acc)
            for i in T.Parallel(32):
                if memory:
                    T.reducer_update(acc[0], held[i] * A[i])
                else:
                    T.reducer_update(acc[0], held[i])
            T.finalize_reducer(acc, total)
            if use == "copy":
                T.copy(total, B[0:1])
            elif use == "element":
                for i in T.Parallel(1):
                    B[i] = total[i]
            else:
                for i in T.Parallel(128):
                    B[i] = total[0]

    return kernel


def of_part_tile_v2(threads: int, tile: tuple[int, int], kept: str) -> Any:
    """4 times the sums of a fragment's rows, columns, or all, in a nest that has one axis more."""
    m, n = tile
    shape = {"rows": (m,), "columns": (n,), "": (1,)}[kept]

    @T.prim_func
    def kernel(A: T.Tensor((m, n), "float32"), B: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=threads):
            held = T.alloc_fragment((m, n), "float32")
            acc = T.alloc_reducer(shape, "float32")
            result = T.alloc_fragment(shape, "float32")
            T.copy(A, held)
            T.reducer_init(acc)
            for i, j, _ in T.Parallel(m, n, 4):
                if kept == "rows":
                    T.reducer_update(acc[i], held[i, j])
                elif kept == "columns":
                    T.reducer_update(acc[j], held[i, j])
                else:
                    T.reducer_update(acc[0], held[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def two_places_of_product_v2(threads: int, last: str) -> Any:
    """The row sums of a 64x64 product of ones, and all of it once more in the first of them."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=threads):
            left = T.alloc_shared((64, 64), "float16")
            product = T.alloc_fragment((64, 64), "float32")
            acc = T.alloc_reducer((64,), "float32")
            result = T.alloc_fragment((64,), "float32")
            T.copy(A, left)
            T.clear(product)
            T.gemm(left, left, product)
            T.reducer_init(acc)
            for i, j in T.Parallel(64, 64):
                if last == "its own":
                    T.reducer_update(acc[0], product[i, j])
                T.reducer_update(acc[i], product[i, j])
                if last == "the first":
                    T.reducer_update(acc[0], product[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel
