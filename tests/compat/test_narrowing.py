"""What the plans make of a kernel: partials in registers, loads of 16 bytes, few shuffles."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from benchmarks.kernel_bench import shipped
from reducer_compat import simt
from reducer_compat.adapter import adapter
from tests.compat.lowering import body, source
from tests.compat.share import dealt

pytestmark = pytest.mark.usefixtures("canonical")


@pytest.fixture
def canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


def statistics(m: int, n: int, bm: int, threads: int) -> Any:
    """Two loops over one fragment, whose layout is TileLang's to choose."""

    @T.prim_func
    def main(
        X: T.Tensor((m, n), "float32"),
        peak: T.Tensor((m,), "float32"),
        total: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=threads) as bx:
            row = T.alloc_fragment((bm, n), "float32")
            top = T.alloc_reducer((bm,), "float32", op="max")
            top_result = T.alloc_fragment((bm,), "float32")
            mass = T.alloc_reducer((bm,), "float32", op="sum")
            mass_result = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm, 0], row)
            T.reducer_init(top)
            T.reducer_init(mass)
            for i, j in T.Parallel(bm, n):
                T.reducer_update(top[i], row[i, j])
            T.finalize_reducer(top, top_result)
            for i, j in T.Parallel(bm, n):
                T.reducer_update(mass[i], row[i, j] - top_result[i])
            T.finalize_reducer(mass, mass_result)
            T.copy(top_result, peak[bx * bm])
            T.copy(mass_result, total[bx * bm])

    return main


def product_maxima() -> Any:
    """Row maxima of a matrix product, in the layout of the tensor cores' accumulators."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 64), "float16"),
        peak: T.Tensor((64,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 32), "float16")
            B_s = T.alloc_shared((32, 64), "float16")
            C = T.alloc_fragment((64, 64), "float32")
            top = T.alloc_reducer((64,), "float32", op="max")
            top_result = T.alloc_fragment((64,), "float32")
            T.copy(A, A_s)
            T.copy(B, B_s)
            T.clear(C)
            T.gemm(A_s, B_s, C)
            T.reducer_init(top)
            for i, j in T.Parallel(64, 64):
                T.reducer_update(top[i], C[i, j])
            T.finalize_reducer(top, top_result)
            T.copy(top_result, peak)

    return main


def partial_indices(text: str) -> set[str]:
    """What the partials of a kernel are indexed by."""
    return set(re.findall(r"\w+_partial\[(.*?)\](?= |\))", body(text)))


@pytest.mark.parametrize(
    ("bm", "n", "threads"),
    dealt([(64, 64, 128), (4, 512, 256), (48, 32, 64), (32, 128, 128)], hands=2),
)
def test_layouts_of_tilelang_are_narrowed(bm: int, n: int, threads: int) -> None:
    kernel = statistics(2 * bm, n, bm, threads)
    x = np.random.default_rng(bm).integers(-4, 5, (2 * bm, n)).astype(np.float32)
    peak, total = simt.run(kernel, x, out_idx=[-2, -1])
    np.testing.assert_array_equal(peak, x.max(1))
    np.testing.assert_array_equal(total, (x - x.max(1, keepdims=True)).sum(1))
    text = source(kernel)
    assert not any("threadIdx" in index for index in partial_indices(text))
    assert "threadIdx.x) == (" not in body(text)  # no thread runs through the others' iterations


def test_an_accumulator_of_the_tensor_cores_is_narrowed() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-2, 3, (64, 32)).astype(np.float16)
    b = rng.integers(-2, 3, (32, 64)).astype(np.float16)
    got = simt.run(product_maxima(), a, b, out_idx=-1, target="sm_80")
    np.testing.assert_array_equal(got, (a.astype(np.float32) @ b.astype(np.float32)).max(1))
    text = source(product_maxima())
    assert not any("threadIdx" in index for index in partial_indices(text))
    # Four partials over two bits of the lane: one half, then a quarter is left in each.
    assert re.findall(r"tl::shfl_xor_sync\(.*, (\d+)\)\);", text) == ["2", "1"]
    assert "AllReduce" not in body(text)


KERNELS = {
    "gemv": lambda: shipped.gemv_shared(32, 256, 16, 128, 128, "float16"),
    "ragged gemv": lambda: shipped.gemv_shared(16, 192, 8, 96, 128, "float16"),
    "rows from global": lambda: shipped.row_sum_global(16, 512, 8, 256, 128, "float32"),
    "columns": lambda: shipped.rmsnorm_backward(64, 256, 2, 16, 256, 128, "float16"),
    "outer product": lambda: shipped.outer_product(2, 256, 128, 128),
}


@pytest.mark.parametrize("name", KERNELS)
def test_partials_are_registers_and_loads_are_wide(name: str) -> None:
    text = body(source(KERNELS[name]()))
    assert not any("threadIdx" in index for index in partial_indices(text))
    assert re.search(r"\*\((?:uint4|float4)\*\)\(\w+_read \+ ", text)


def test_the_wide_plan_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", "wide")
    kernel = statistics(128, 64, 64, 128)
    x = np.random.default_rng(1).integers(-4, 5, (128, 64)).astype(np.float32)
    peak, _ = simt.run(kernel, x, out_idx=[-2, -1])
    np.testing.assert_array_equal(peak, x.max(1))
    assert any("threadIdx" in index for index in partial_indices(source(kernel)))


def test_registers_are_left_to_more_blocks() -> None:
    """Under warp specialization, where there is no matrix product that needs them."""
    text = source(shipped.gemv_shared(32, 256, 16, 128, 128, "float16"), arch="sm_90")
    assert "warpgroup_reg_alloc" not in text


@pytest.mark.skipif(str(adapter().release) == "0.1.8", reason="all arrive where copies meet")
@pytest.mark.parametrize(("rows", "columns"), [(16, 128), (64, 128)])
def test_producers_that_nobody_waits_for_do_not_wait(rows: int, columns: int) -> None:
    """A warp that only waits is lapped, and hangs: the branch is left to the one that copies."""
    text = source(shipped.gemv_shared(64, 1024, rows, columns, 128, "float16"), arch="sm_90")
    elected = text.rindex("for (", 0, text.index("tl_shuffle_elect<128>"))
    condition = text[:elected].rstrip().splitlines()[-1]
    assert re.fullmatch(r"\s*if \(.*threadIdx\.x.*>> 5\) == 0\) \{", condition), condition


def test_contributions_of_different_buffers_stay_apart() -> None:
    """Two operands with the same indices are two operands."""

    @T.prim_func
    def main(
        A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), y: T.Tensor((1,), "float32")
    ):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(64):
                T.reducer_update(acc[0], A[i] * B[i])
            T.finalize_reducer(acc, result)
            y[0] = result[0]

    a, b = (np.arange(64, dtype=np.float32) % k for k in (5, 7))
    np.testing.assert_array_equal(simt.run(main, a, b, out_idx=-1), [(a * b).sum()])


def transposed(threads: int) -> Any:
    """Every output has one contribution, and neighbours in memory are of different outputs."""

    @T.prim_func
    def main(A: T.Tensor((8, 8), "float16"), out: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((8, 8), "float32", op="sum")
            result = T.alloc_fragment((8, 8), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 8):
                T.reducer_update(acc[j, i], A[i, j].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, out)

    return main


@pytest.mark.parametrize("threads", [32, 64, 128, 256])
def test_threads_keep_to_their_partials(threads: int) -> None:
    a = np.random.default_rng(0).integers(-8, 9, (8, 8)).astype(np.float16)
    ran = simt.execute(transposed(threads), a)
    assert ran.report.ok, str(ran.report)
    np.testing.assert_array_equal(ran.outputs[0], a.T)
