"""16-bit floats are accumulated in pairs where a thread has a run of them, and nowhere else."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from benchmarks.kernel_bench import shipped
from reducer_compat import pipeline, simt
from reducer_compat.adapter import adapter
from reducer_rules.release import Release
from tests.compat.lowering import body, run, source, wanted
from tests.compat.share import dealt
from tests.kernels.case import numpy_dtype
from tests.kernels.halves import DTYPES, OPS, TILES, halves, rows

pytestmark = pytest.mark.usefixtures("canonical")
paired = pytest.mark.skipif(not adapter().pairs_halves, reason="no instructions for pairs there")
#: What TileLang calls the instruction that a run of weighted values becomes.
INSTRUCTIONS = {"sum": "fma2", "prod": "mul2", "max": "max2", "min": "min2"}


@pytest.fixture
def canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


@paired
@pytest.mark.parametrize(("op", "dtype"), dealt(OPS, DTYPES, hands=3))
def test_a_run_is_one_packed_instruction_for_two_values(op: str, dtype: str) -> None:
    text = body(source(rows(op, dtype, (16, 128), 2, True)))
    assert f"tl::{INSTRUCTIONS[op]}(" in text
    indices = re.findall(r"acc_partial_pairs(?:\[| \+ )(.*?)[\])]", text)
    assert indices
    assert not any("threadIdx" in index for index in indices)


@pytest.mark.parametrize(("tile", "dtype"), dealt(TILES, DTYPES, hands=5), ids=str)
def test_sums_are_right_in_runs_of_any_length(tile: tuple[int, int], dtype: str) -> None:
    for weighted in (False, True):
        case = halves("sum", dtype, tile, weighted)
        np.testing.assert_array_equal(run(case), wanted(case))


@paired
def test_fragments_are_paired_under_warp_specialization_too() -> None:
    kernel = shipped.gemv_16bit(32, 512, 16, 128, 128, "float16")
    rng = np.random.default_rng(0)
    a, x = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((32, 512), (512,)))
    got = simt.run(kernel, a, x, target="sm_90")
    np.testing.assert_array_equal(got, a.astype(np.float32) @ x.astype(np.float32))
    assert "tl::fma2(" in source(kernel, arch="sm_90")


def spread_and_peak(dtype: str) -> Any:
    """Squares of differences to a value that all share, and largest magnitudes."""

    @T.prim_func
    def main(A: T.Tensor((8, 256), dtype), m: T.Tensor((1,), dtype), y: T.Tensor((2, 8), dtype)):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((8, 256), dtype)
            squares = T.alloc_reducer((8,), dtype)
            peak = T.alloc_reducer((8,), dtype, op="max")
            squares_result = T.alloc_fragment((8,), dtype)
            peak_result = T.alloc_fragment((8,), dtype)
            T.copy(A, A_s)
            T.reducer_init(squares)
            T.reducer_init(peak)
            for i, j in T.Parallel(8, 256):
                T.reducer_update(squares[i], (A_s[i, j] - m[0]) * (A_s[i, j] - m[0]))
            for i, j in T.Parallel(8, 256):
                T.reducer_update(peak[i], T.max(A_s[i, j], -A_s[i, j]))
            T.finalize_reducer(squares, squares_result)
            T.finalize_reducer(peak, peak_result)
            T.copy(squares_result, y[0, 0])
            T.copy(peak_result, y[1, 0])

    return main


@paired
@pytest.mark.parametrize("dtype", DTYPES)
def test_expressions_of_operands_are_paired_whole(
    dtype: str, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = spread_and_peak(dtype)
    a = (np.random.default_rng(3).random((8, 256)) < 0.1).astype(np.float64)
    a[:, 7] = -3
    m = np.ones(1)
    got = simt.run(kernel, *(one.astype(numpy_dtype(dtype)) for one in (a, m))).astype(np.float64)
    np.testing.assert_array_equal(got[1], np.abs(a).max(1))
    np.testing.assert_allclose(got[0], ((a - m) ** 2).sum(1), rtol=0.01)
    text = body(source(kernel))
    assert {"tl::sub2(", "tl::fma2(", "tl::max2("} <= set(re.findall(r"tl::\w+2\(", text))
    assert "lowered as a serial loop" not in capfd.readouterr().err


def maxima_and_sums(epochs: int) -> Any:
    """Two reducers, opened and closed once an epoch."""

    @T.prim_func
    def main(A: T.Tensor((epochs, 8, 256), "float16"), y: T.Tensor((epochs, 2, 8), "float16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((8, 256), "float16")
            top = T.alloc_reducer((8,), "float16", op="max")
            mass = T.alloc_reducer((8,), "float16", op="sum")
            top_result = T.alloc_fragment((8,), "float16")
            mass_result = T.alloc_fragment((8,), "float16")
            for e in T.serial(epochs):
                T.copy(A[e, 0, 0], A_s)
                T.reducer_init(top)
                T.reducer_init(mass)
                for i, j in T.Parallel(8, 256):
                    T.reducer_update(top[i], A_s[i, j])
                T.finalize_reducer(top, top_result)
                for i, j in T.Parallel(8, 256):
                    T.reducer_update(mass[i], A_s[i, j])
                T.finalize_reducer(mass, mass_result)
                T.copy(top_result, y[e, 0, 0])
                T.copy(mass_result, y[e, 1, 0])

    return main


@paired
def test_pairs_are_opened_and_closed_with_every_epoch() -> None:
    kernel = maxima_and_sums(3)
    a = np.random.default_rng(1).integers(-5, 3, (3, 8, 256)).astype(np.float16)
    got = simt.run(kernel, a).astype(np.float32)
    np.testing.assert_array_equal(got[:, 0], a.max(2))
    np.testing.assert_array_equal(got[:, 1], a.astype(np.float32).sum(2))
    text = body(source(kernel))
    assert "tl::max2(" in text
    assert "tl::add2(" in text


@paired
def test_a_site_in_pairs_and_one_without_share_a_reducer() -> None:
    """The second has a guard that tells neighbours apart."""

    @T.prim_func
    def main(A: T.Tensor((8, 256), "float16"), y: T.Tensor((8,), "float16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((8, 256), "float16")
            acc = T.alloc_reducer((8,), "float16", op="max")
            result = T.alloc_fragment((8,), "float16")
            T.copy(A, A_s)
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 256):
                T.reducer_update(acc[i], A_s[i, j])
            for i, j in T.Parallel(8, 256):
                if j % 2 == 0:
                    T.reducer_update(acc[i], A_s[i, j] + T.float16(8))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    a = np.random.default_rng(2).integers(-9, 9, (8, 256)).astype(np.float16)
    np.testing.assert_array_equal(
        simt.run(main, a), np.maximum(a.max(1), a[:, ::2].max(1) + np.float16(8))
    )
    text = body(source(main))
    assert text.count("tl::max2(") == 1


def guarded() -> Any:
    """A guard that tells neighbours apart."""

    @T.prim_func
    def main(A: T.Tensor((8, 256), "float16"), y: T.Tensor((8,), "float16")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float16")
            result = T.alloc_fragment((8,), "float16")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 256):
                if j < 101:
                    T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


def strided() -> Any:
    """Operands that lie two apart."""

    @T.prim_func
    def main(A: T.Tensor((8, 256), "float16"), y: T.Tensor((8,), "float16")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float16")
            result = T.alloc_fragment((8,), "float16")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 128):
                T.reducer_update(acc[i], A[i, j * 2])
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


def exponentials() -> Any:
    """Contributions of a function that has no packed instruction."""

    @T.prim_func
    def main(A: T.Tensor((8, 256), "float16"), y: T.Tensor((8,), "float16")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float16")
            result = T.alloc_fragment((8,), "float16")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 256):
                T.reducer_update(acc[i], T.exp(A[i, j]))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


UNCHANGED = {
    "32-bit sums": lambda: shipped.gemv_shared(32, 256, 16, 128, 128, "float16"),
    "32-bit rows": lambda: shipped.row_sum_global(16, 512, 8, 256, 128, "float32"),
    "short runs": lambda: rows("sum", "float16", (16, 16), 2, False),
    "odd runs": lambda: rows("sum", "float16", (3, 9), 2, False),
    "guards": guarded,
    "strides": strided,
    "functions": exponentials,
}


@pytest.mark.parametrize("name", dealt(UNCHANGED, hands=3))
def test_what_does_not_qualify_stays_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = body(source(UNCHANGED[name]()))
    monkeypatch.setattr(pipeline, "packed", lambda func: func)
    assert text == body(source(UNCHANGED[name]()))


@pytest.mark.skipif(adapter().pairs_halves, reason="has instructions for pairs")
def test_a_release_that_takes_pairs_apart_gets_none() -> None:
    assert "_pairs" not in source(rows("sum", "float16", (16, 128), 2, True))


@pytest.mark.skipif(
    adapter().release < Release.parse("0.1.10"), reason="its wheels generate no HIP"
)
def test_hip_gets_no_pairs() -> None:
    assert "_pairs" not in source(rows("sum", "float16", (16, 128), 2, True), "gfx942", "hip")
