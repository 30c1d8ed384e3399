"""What TileLang's own lowering computes, release by release, as numbers.

The wrong ones are what GPUs give too: each was measured there or read in the generated code.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from packaging.version import Version

from reducer_compat import simt

from . import kernels as k

BROKEN_WARP_SPECIALIZATION = {
    Version("0.1.11"): "clear",
    Version("0.1.12"): "clear and copy",
    Version("0.1.13"): "clear and copy",
}


def one_to(n: int) -> Any:
    return np.arange(1, n + 1, dtype="float32")


def test_the_sum_of_eight_values_is_576_before_native_reducers() -> None:
    assert simt.run(k.sum8(), one_to(8)).tolist() == [36.0 if k.NATIVE else 576.0]


def test_two_sites_of_widths_8_and_16_count_16_and_8_times() -> None:
    (got,) = simt.run(k.two_sites(), one_to(8), one_to(16)).tolist()
    assert got == (36.0 + 136.0 if k.NATIVE else 16 * 36.0 + 8 * 136.0)


def test_a_serial_loop_inside_a_parallel_one_of_32_counts_4_times() -> None:
    (got,) = simt.run(k.serial_inside(), np.ones((8, 32), "float32")).tolist()
    assert got == (256.0 if k.NATIVE else 4 * 256.0)


def test_an_update_beside_a_fragment_write_counts_twice() -> None:
    doubled, total = simt.run(k.beside_fragment(), one_to(64), out_idx=[1, 2])
    np.testing.assert_array_equal(doubled, 2 * one_to(64))
    assert total.tolist() == [2080.0 if k.NATIVE else 2 * 2080.0]


@pytest.mark.skipif(not k.BATCHES, reason="finalize_reducer takes a batch from 0.1.10")
@pytest.mark.parametrize(
    ("batch", "want"),
    [(1, [128.0] * 8), (2, [128.0, 128.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0]), (8, [128.0] * 8)],
)
def test_a_batch_of_two_reduces_only_the_first_two(batch: int, want: list[float]) -> None:
    assert simt.run(k.batched(batch), np.ones((8, 128), "float32")).tolist() == want


def test_the_pipelined_gemv_is_right_without_warp_specialization() -> None:
    rng = np.random.default_rng(0)
    a, x = (rng.standard_normal(s).astype("float16") for s in ((64, 512), 512))
    for target in ("sm_75", "sm_80"):
        got = simt.run(k.gemv(64, 512), a, x, target=target).astype(float)
        np.testing.assert_allclose(got, a.astype(float) @ x.astype(float), rtol=1e-3, atol=0.02)


def test_the_pipelined_gemv_under_warp_specialization() -> None:
    a, x = np.ones((64, 512), "float16"), np.ones(512, "float16")
    result = simt.execute(k.gemv(64, 512), a, x, target="sm_90")
    lost = BROKEN_WARP_SPECIALIZATION.get(k.RELEASE)
    if lost is None:
        assert result.report.ok, result.report
        assert result.outputs[0].tolist() == [512.0] * 64
        return
    read = result.report.of("unwritten-read")[0]
    assert (read.block, read.thread) == ((0, 0, 0), (128, 0, 0))
    assert read.message == "reads o[0], which nothing wrote"
    assert np.isnan(result.outputs[0]).all()
    output = result.report.of("unwritten-output")
    assert [f.message for f in output] == (
        ["64 of its 64 elements were never written, y[0] first"] if "copy" in lost else []
    )


def test_a_gemv_of_a_million_elements_takes_seconds() -> None:
    a, x = np.ones((1024, 1024), "float16"), np.ones(1024, "float16")
    start = time.process_time()
    result = simt.execute(k.gemv(1024, 1024), a, x)
    assert time.process_time() - start < 10
    assert result.outputs[0].tolist() == [1024.0] * 1024
