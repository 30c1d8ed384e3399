"""Warps that run last: waits at an mbarrier that they would never come out of."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

import reducer_compat
from benchmarks.kernel_bench import shipped
from reducer_compat import pipeline, simt
from tests.compat.simt import kernels as k

A = np.random.default_rng(2).integers(-9, 9, (64, 6 * 64)).astype("float32")
W, X = np.ones((64, 1024), np.float16), np.ones(1024, np.float16)
TILES = [(16, 128), (32, 64)]


def gemv(rows: int, columns: int) -> simt.Lowered:
    return simt.lower(shipped.gemv_shared(64, 1024, rows, columns, 128, "float16"), "sm_90")


def row_sums(rows: int, columns: int) -> simt.Lowered:
    """One copy in each turn: on 0.1.8, where two share a barrier, all producers arrive there."""
    return simt.lower(shipped.row_sum_shared(64, 1024, rows, columns, 128, "float16"), "sm_90")


def starved(kernel: simt.Lowered, *given: Any) -> simt.Report:
    return simt.execute_lowered(kernel, *given, starve=True).report


@pytest.mark.parametrize(("rows", "columns"), TILES)
def test_no_warp_of_ours_is_lapped(rows: int, columns: int) -> None:
    for report in (starved(gemv(rows, columns), W, X), starved(row_sums(rows, columns), W)):
        assert report.ok, report


@pytest.mark.parametrize(("rows", "columns"), TILES)
def test_producers_that_only_wait_are_lapped(
    rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an H200 one of a few launches of such a kernel, a GEMV, hung."""
    monkeypatch.setattr(pipeline, "leave_issuing", lambda func: func)
    kernel = row_sums(rows, columns)
    assert simt.execute_lowered(kernel, W).report.ok
    (fault, *_) = starved(kernel, W).faults
    assert (fault.kind, fault.block) == ("lapped-wait", (0, 0, 0))
    # The second warp of the producers, which some releases put before the consumers, some behind.
    assert fault.thread in ((32, 0, 0), (128 + 32, 0, 0))
    assert "mbarrier_wait_parity" in fault.statement
    assert fault.message.endswith("one that is late takes it for this one, and waits for ever")


def test_tilelang_alone_makes_such_warps() -> None:
    reducer_compat.uninstall()
    try:
        kernel = simt.lower(k.tile_sums(6), "sm_90")
    finally:
        reducer_compat.install()
    assert starved(kernel, A).of("lapped-wait")


def test_consumers_that_do_not_arrive_are_lapped() -> None:
    """The producer goes on without them: every second phase is one too many for a late one."""
    kernel = simt.lower(k.tile_sums(6), "sm_90")
    module = kernel.tir.module
    prefix = module.__name__.rsplit(".", 1)[1]

    def halved(node: Any) -> Any:
        name = kernel.tir.op_name(node)
        if name != "ptx_init_barrier_thread_count":
            return None
        return module.Call(node.dtype, node.op, [node.args[0], module.IntImm("int32", 1)])

    device = {
        name: func.with_body(
            module.stmt_functor.ir_transform(func.body, None, halved, [f"{prefix}.Call"])
        )
        for name, func in kernel.device.items()
    }
    assert starved(dataclasses.replace(kernel, device=device), A).of("lapped-wait")


def bounded_by_variables() -> Any:
    """Sums of parts of a row; where each begins and ends a variable of every thread says."""

    @T.prim_func
    def kernel(
        A: T.Tensor((3, 512), "float16"),
        bounds: T.Tensor((3, 2), "int32"),
        B: T.Tensor((3,), "float32"),
    ):
        with T.Kernel(3, threads=64) as bx:
            first, end = T.alloc_var("int32"), T.alloc_var("int32")
            tile = T.alloc_shared((64,), "float16")
            acc = T.alloc_reducer((1,), "float32")
            first = bounds[bx, 0]
            end = bounds[bx, 1]
            T.reducer_init(acc)
            for k in T.Pipelined(first, end, num_stages=2):
                T.copy(A[bx, k * 64 : k * 64 + 64], tile)
                for j in T.Parallel(64):
                    T.reducer_update(acc[0], T.cast(tile[j], "float32"))
            T.finalize_reducer(acc, B[bx : bx + 1])

    return kernel


@pytest.mark.filterwarnings("ignore::reducer_compat.UncountedWarning")
def test_producers_of_a_pipeline_that_variables_bound_are_not_lapped() -> None:
    """Producers and consumers have the variables each; a count knows of no length."""
    bounds = np.array([[0, 8], [3, 5], [1, 7]], np.int32)
    rows = A[:3, :1].astype("float16") + np.arange(512, dtype="float16")
    kernel = simt.lower(bounded_by_variables(), "sm_90")
    done = simt.execute_lowered(kernel, rows, bounds, starve=True, out_idx=[-1])
    assert done.report.ok, done.report
    sums = [
        row[64 * a : 64 * b].astype("float64").sum()
        for row, (a, b) in zip(rows, bounds, strict=True)
    ]
    np.testing.assert_allclose(done.outputs[0], sums)
