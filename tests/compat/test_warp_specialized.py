"""Epochs around, before and after pipelines that TileLang warp-specializes on Hopper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from tests.compat.lowering import run, wanted
from tests.compat.share import dealt
from tests.kernels import Case, all_cases

#: Pipelines whose operands are copied on to fragments, so that updates wait for their layout.
WAITING = ("bench_gemv_fragment_32x8", "bench_gemv_16bit")


@pytest.fixture(autouse=True)
def _canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


def epoch_before(columns: int, destination: str) -> Any:
    """A whole epoch over global memory before the pipeline, and one over the pipeline.

    TileLang leaves the first outside the warp-specialized branch, where the threads of the
    producer run it too.
    """

    @T.prim_func
    def main(
        A: T.Tensor((3, columns), "int32"),
        B: T.Tensor((3, 64, 16), "int32"),
        low: T.Tensor((3,), "int32"),
        total: T.Tensor((3, 16), "int32"),
    ):
        with T.Kernel(3, threads=128) as bx:
            B_s = T.alloc_shared((16, 16), "int32")
            least = T.alloc_reducer((1,), "int32", op="min")
            seen = T.alloc_reducer((1,), "int32", op="sum")
            if destination == "shared":
                least_result = T.alloc_shared((1,), "int32")
            else:
                least_result = T.alloc_fragment((1,), "int32")
            seen_result = T.alloc_fragment((1,), "int32")
            acc = T.alloc_reducer((16,), "int32", op="sum")
            acc_result = T.alloc_fragment((16,), "int32")
            T.reducer_init(least)
            T.reducer_init(seen)
            for j in T.Parallel(columns):
                T.reducer_update(least[0], A[bx, j])
                T.reducer_update(seen[0], 1)
            T.finalize_reducer(least, least_result)
            T.finalize_reducer(seen, seen_result)
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(B[bx, k * 16, 0], B_s)
                for i, j in T.Parallel(16, 16):
                    T.reducer_update(acc[i], B_s[i, j] - least_result[0])
            T.finalize_reducer(acc, acc_result)
            low[bx] = least_result[0] + seen_result[0]
            T.copy(acc_result, total[bx, 0])

    return main


@pytest.mark.parametrize(
    ("columns", "destination"), dealt((100, 128, 200), ("fragment", "shared"), hands=3)
)
def test_producers_take_no_part_in_an_epoch_before_the_pipeline(
    columns: int, destination: str
) -> None:
    rng = np.random.default_rng(columns)
    a = rng.integers(-50, 50, (3, columns)).astype(np.int32)
    b = rng.integers(-4, 5, (3, 64, 16)).astype(np.int32)
    low, total = simt.run(
        epoch_before(columns, destination), a, b, out_idx=[-2, -1], target="sm_90"
    )
    least = a.min(1)
    np.testing.assert_array_equal(low, least + columns)
    wanted = b.reshape(3, 4, 16, 16).sum((1, 3)) - 64 * least[:, None]
    np.testing.assert_array_equal(total, wanted)


@pytest.mark.parametrize(
    "case", [c for c in all_cases() if c.name.startswith(WAITING)], ids=lambda case: case.name
)
def test_updates_that_wait_for_a_layout_run_in_the_consumers(case: Case) -> None:
    np.testing.assert_array_equal(run(case, target="sm_90"), wanted(case))


def turns(width: int, threads: int, second: bool) -> Any:
    """In each turn of a loop a tile copied by all threads, and a pipeline that reads it."""

    @T.prim_func
    def main(
        A: T.Tensor((2, 3, width), "float32"),
        B: T.Tensor((2, 3, 2, width, 64), "float32"),
        out: T.Tensor((2, 3, width), "float32"),
    ):
        with T.Kernel(2, threads=threads) as bx:
            A_s = T.alloc_shared((width,), "float32")
            B_s = T.alloc_shared((width, 64), "float32")
            C_s = T.alloc_shared((width, 64), "float32")
            acc = T.alloc_reducer((width,), "float32", op="sum")
            result = T.alloc_fragment((width,), "float32")
            for t in range(3):
                T.copy(A[bx, t, 0], A_s)
                T.reducer_init(acc)
                for k in T.Pipelined(2, num_stages=2):
                    T.copy(B[bx, t, k, 0, 0], B_s)
                    for i, j in T.Parallel(width, 64):
                        T.reducer_update(acc[i], B_s[i, j] * A_s[i])
                if second:
                    for k in T.Pipelined(2, num_stages=2):
                        T.copy(B[bx, t, k, 0, 0], C_s)
                        for i, j in T.Parallel(width, 64):
                            T.reducer_update(acc[i], C_s[i, j])
                T.finalize_reducer(acc, result)
                T.copy(result, out[bx, t, 0])

    return main


@pytest.mark.parametrize(
    ("size", "second"),
    dealt([(8, 32), (32, 64), (32, 128), (48, 96)], (False, True), hands=3),
    ids=str,
)
def test_no_turn_of_a_loop_overtakes_another(size: tuple[int, int], second: bool) -> None:
    width, threads = size
    rng = np.random.default_rng(width)
    a = rng.integers(-4, 5, (2, 3, width)).astype(np.float32)
    b = rng.integers(-4, 5, (2, 3, 2, width, 64)).astype(np.float32)
    got = simt.run(turns(width, threads, second), a, b, target="sm_90")
    sums = b.sum((2, 4))
    np.testing.assert_array_equal(got, sums * a + (sums if second else 0))


def bulk(stages: int, anew: bool) -> Any:
    """Contiguous tiles, which a pipeline copies whole; with `anew` the same in every turn."""

    @T.prim_func
    def main(A: T.Tensor((4, 2048), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((2048,), "float32")
            acc = T.alloc_reducer((1,), "float32", op="sum")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[0 if anew else k, 0:2048], A_s)
                for i in T.Parallel(2048):
                    T.reducer_update(acc[0], A_s[i])
            T.finalize_reducer(acc, result)
            T.copy(result, out)

    return main


@pytest.mark.parametrize("stages", [1, 2])
def test_nobody_waits_for_a_copy_that_does_not_arrive(stages: int) -> None:
    """From 0.1.9 to 0.1.12 warp specialization is given up for it."""
    a = np.random.default_rng(0).integers(-8, 9, (4, 2048)).astype(np.float32)
    got = simt.run(bulk(stages, anew=True), a, target="sm_90")
    np.testing.assert_array_equal(got, [4 * a[0].sum()])


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_stages_of_a_tile_with_long_rows_are_kept_apart(stages: int) -> None:
    """From 0.1.9 to 0.1.13 TMA, or warp specialization with it, is given up for some."""
    a = np.random.default_rng(0).integers(-8, 9, (4, 2048)).astype(np.float32)
    a[1:] *= 16
    got = simt.run(bulk(stages, anew=False), a, target="sm_90")
    np.testing.assert_array_equal(got, [a.sum()])


def copied_in(stages: int) -> Any:
    """A pipeline copies to a fragment before its consumers wait for a tensor copy."""

    @T.prim_func
    def main(
        A: T.Tensor((1, 6, 4, 64), "float32"),
        C: T.Tensor((1, 6, 4, 64), "float32"),
        B: T.Tensor((1, 4), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((4, 64), "float32")
            c = T.alloc_shared((4, 64), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(6, num_stages=stages):
                T.copy(A[0, k, 0:4, 0:64], a)
                T.copy(C[0, k, 0:4, 0:64], c)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], a[i, j] * c[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B[0, 0:4])

    return main


def copied_in_turns(stages: int) -> Any:
    """The same in every turn of a loop, where producers count the stages of all turns."""

    @T.prim_func
    def main(
        A: T.Tensor((2, 6, 4, 64), "float32"),
        C: T.Tensor((2, 6, 4, 64), "float32"),
        B: T.Tensor((2, 4), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((4, 64), "float32")
            c = T.alloc_shared((4, 64), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            for t in T.serial(2):
                T.reducer_init(acc)
                for k in T.Pipelined(6, num_stages=stages):
                    T.copy(A[t, k, 0:4, 0:64], a)
                    T.copy(C[t, k, 0:4, 0:64], c)
                    for i, j in T.Parallel(4, 64):
                        T.reducer_update(acc[i], a[i, j] * c[i, j])
                T.finalize_reducer(acc, result)
                T.copy(result, B[t, 0:4])

    return main


def copied_out(stages: int) -> Any:
    """A pipeline copies from a fragment before its consumers wait for a tensor copy."""

    @T.prim_func
    def main(
        C: T.Tensor((6, 4, 64), "float32"),
        D: T.Tensor((6, 4, 64), "float32"),
        B: T.Tensor((4,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((4, 64), "float32")
            c = T.alloc_shared((4, 64), "float32")
            acc = T.alloc_reducer((4,), "float32")
            result = T.alloc_fragment((4,), "float32")
            T.fill(a, 3)
            T.reducer_init(acc)
            for k in T.Pipelined(6, num_stages=stages):
                T.copy(a, D[k, 0:4, 0:64])
                T.copy(C[k, 0:4, 0:64], c)
                for i, j in T.Parallel(4, 64):
                    T.reducer_update(acc[i], a[i, j] * c[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return main


def is_specialized(kernel: simt.Lowered) -> bool:
    return any("kWarpSpecializationScope" in func.script() for func in kernel.device.values())


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_consumers_keep_the_fragment_that_they_copy_to(stages: int, turns: int) -> None:
    rng = np.random.default_rng(stages)
    a, c = (rng.integers(-4, 5, (turns, 6, 4, 64)).astype(np.float32) for _ in range(2))
    kernel = simt.lower(copied_in(stages) if turns == 1 else copied_in_turns(stages), "sm_90")
    ran = simt.execute_lowered(kernel, a, c, starve=True)
    assert ran.report.ok, ran.report
    np.testing.assert_array_equal(ran.outputs[0], (a * c).sum((1, 3)))
    # From 0.1.9 to 0.1.12 TileLang specializes no pipeline in another loop.
    assert is_specialized(kernel) or turns == 2


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_consumers_keep_the_fragment_that_they_copy_from(stages: int) -> None:
    c = np.random.default_rng(stages).integers(-4, 5, (6, 4, 64)).astype(np.float32)
    kernel = simt.lower(copied_out(stages), "sm_90")
    ran = simt.execute_lowered(kernel, c, out_idx=[1, 2], starve=True)
    assert ran.report.ok, ran.report
    np.testing.assert_array_equal(ran.outputs[0], np.full((6, 4, 64), 3))
    np.testing.assert_array_equal(ran.outputs[1], 3 * c.sum((0, 2)))
    assert is_specialized(kernel)
