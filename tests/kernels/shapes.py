"""Shapes from one to four axes, participants from one warp to a full block, and hints."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Case, integers


def combine(op: str, outputs: int, threads: int) -> Any:
    """`op` over 48 contributions to each output."""

    @T.prim_func
    def kernel(A: T.Tensor((outputs, 48), "float32"), B: T.Tensor((outputs,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((outputs,), "float32", op=op)
            result = T.alloc_fragment((outputs,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(outputs, 48):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def two_axes() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((4, 6, 10), "float32"), B: T.Tensor((4, 10), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((4, 10), "float32")
            result = T.alloc_shared((4, 10), "float32")
            T.reducer_init(acc)
            for i, k, j in T.Parallel(4, 6, 10):
                T.reducer_update(acc[i, j], A[i, k, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def three_axes() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((2, 4, 4, 16), "float32"), B: T.Tensor((2, 4, 4), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((2, 4, 4), "float32", op="max")
            result = T.alloc_fragment((2, 4, 4), "float32")
            T.reducer_init(acc)
            for a, b, c, k in T.Parallel(2, 4, 4, 16):
                T.reducer_update(acc[a, b, c], A[a, b, c, k])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def four_axes() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((2, 2, 4, 8), "float32"), B: T.Tensor((2, 2, 4, 8), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((2, 2, 4, 8), "float32")
            result = T.alloc_fragment((2, 2, 4, 8), "float32")
            T.reducer_init(acc)
            for repeat in T.serial(3):
                for a, b, c, d in T.Parallel(2, 2, 4, 8):
                    T.reducer_update(acc, (a, b, c, d), A[a, b, c, d] + repeat)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def batched(batch: int, source: str) -> Any:
    """Eight outputs of 128 ones each, finalized with a batch hint."""

    @T.prim_func
    def from_global(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 128):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result, batch=batch)
            T.copy(result, B)

    @T.prim_func
    def from_fragment(A: T.Tensor((8, 128), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((8, 128), "float32")
            acc = T.alloc_reducer((8,), "float32", op="sum", replication="all")
            T.copy(A, tile)
            T.clear(acc)
            for i, j in T.Parallel(8, 128):
                acc[i] += tile[i, j]
            T.finalize_reducer(acc, batch=batch)
            T.copy(acc, B)

    return {"global": from_global, "fragment": from_fragment}[source]


def many_outputs() -> Any:
    """More outputs than one exchange holds."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 2048), "float32"), B: T.Tensor((2048,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((2048,), "float32")
            result = T.alloc_fragment((2048,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(4, 2048):
                T.reducer_update(acc[j], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def tile_of_outputs(stages: int) -> Any:
    """Every element of a tile is an output: many turns, also by the consumers of a pipeline."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((64, 64), "float32")
            acc = T.alloc_reducer((64, 64), "float32")
            result = T.alloc_fragment((64, 64), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[k, 0:64, 0:64], tile)
                for i, j in T.Parallel(64, 64):
                    T.reducer_update(acc[i, j], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def two_dimensional_block(rows: int) -> Any:
    """A thread block of 32 by `rows`: each row of threads does all of the kernel."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=(32, rows)):
            tile = T.alloc_fragment((8, 64), "float32")
            acc = T.alloc_reducer((8,), "float32")
            result = T.alloc_fragment((8,), "float32")
            T.copy(A, tile)
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 64):
                T.reducer_update(acc[i], tile[i, j])
            for i, j in T.Parallel(8, 64):
                T.reducer_update(acc[i], A[i, j] * 2)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _combine_case(op: str, outputs: int, threads: int) -> Case:
    expected = {"sum": np.sum, "max": np.max, "min": np.min}[op]
    return Case(
        f"{op}_{outputs}_of_48_on_{threads}",
        "sum, max and min over scalar and multi-element shapes; warp-only, cross-warp, full block",
        lambda: combine(op, outputs, threads),
        integers((outputs, 48)),
        lambda a: np.asarray(expected(a, axis=1)),
        ((outputs,), "float32"),
    )


def _batch_case(batch: int, source: str) -> Case:
    return Case(
        f"batch_{batch}_{source}",
        "batched equals scalar in every element; hints fall back",
        lambda: batched(batch, source),
        lambda rng: (np.ones((8, 128), "float32"),),
        lambda a: a.sum(1),
        ((8,), "float32"),
    )


def cases() -> list[Case]:
    found = [
        _combine_case(op, outputs, threads)
        for op in ("sum", "max", "min")
        for outputs, threads in ((1, 128), (8, 32), (8, 256))
    ]
    found += [
        _batch_case(batch, source) for batch in (1, 2, 8, 3) for source in ("global", "fragment")
    ]
    found += [
        Case(
            f"tile_of_outputs_{stages}",
            "an exchange in turns",
            lambda stages=stages: tile_of_outputs(stages),
            integers((4, 64, 64)),
            lambda a: a.sum(0),
            ((64, 64), "float32"),
        )
        for stages in (1, 2)
    ]
    found += [
        Case(
            f"two_dimensional_block_{rows}",
            "thread blocks of several dimensions",
            lambda rows=rows: two_dimensional_block(rows),
            integers((8, 64)),
            lambda a: 3 * a.sum(1),
            ((8,), "float32"),
        )
        for rows in (2, 4)
    ]
    return [
        *found,
        Case(
            "two_axes",
            "1-D to 4-D shapes",
            two_axes,
            integers((4, 6, 10)),
            lambda a: a.sum(1),
            ((4, 10), "float32"),
        ),
        Case(
            "three_axes",
            "1-D to 4-D shapes",
            three_axes,
            integers((2, 4, 4, 16)),
            lambda a: a.max(3),
            ((2, 4, 4), "float32"),
        ),
        Case(
            "four_axes",
            "1-D to 4-D shapes",
            four_axes,
            integers((2, 2, 4, 8)),
            lambda a: 3 * a + 3,
            ((2, 2, 4, 8), "float32"),
        ),
        Case(
            "many_outputs",
            "an exchange in turns",
            many_outputs,
            integers((4, 2048)),
            lambda a: a.sum(0),
            ((2048,), "float32"),
        ),
    ]
