"""The rest of the language that reducer kernels use, each on one small kernel."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from tests.compat.share import dealt

from . import kernels as k

A = np.arange(64, dtype="float32")
N = np.arange(64, dtype="int32")
RNG = np.random.default_rng(13)


def test_several_kernels_in_one_function() -> None:
    b, c = simt.run(k.two_kernels(), A, out_idx=[1, 2])
    np.testing.assert_array_equal(b, 2 * A)
    np.testing.assert_array_equal(c, 2 * A + 1)


@pytest.mark.parametrize(
    ("shape", "target"),
    dealt([(64, 256), (100, 128)], ("sm_75", "sm_80", "sm_90"), hands=3),
    ids=str,
)
def test_swizzled_tiles(shape: tuple[int, int], target: str) -> None:
    a = RNG.standard_normal(shape).astype("float16")
    np.testing.assert_array_equal(simt.run(k.swizzled(*shape), a, target=target), a)


def test_tma_stores_go_through_a_tensor_map_with_the_swizzle() -> None:
    lowered = simt.lower(k.swizzled(64, 256), "sm_90")
    (kernel,) = lowered.device.values()
    assert "tma_store" in str(kernel)
    assert "__tvm_tensormap_create_tiled" in str(lowered.host)


def test_grid_barriers() -> None:
    b, c = simt.run(k.grid_synced(), A[:4].copy(), out_idx=[1, 2])
    assert (b.tolist(), c.tolist()) == ([0, 2, 4, 6], [6, 4, 2, 0])


def test_blocks_of_two_dimensions() -> None:
    a = RNG.standard_normal((8, 16)).astype("float32")
    np.testing.assert_array_equal(simt.run(k.two_dimensional(), a), a[:, ::-1])


@pytest.mark.parametrize(("true", "want"), [([], [0, 0]), ([3], [1, 0]), (range(64), [1, 1])])
def test_tests_of_whole_arrays(true: Any, want: list[int]) -> None:
    a = np.isin(N, list(true))
    assert simt.run(k.any_and_all(), a).tolist() == want


def test_vectors() -> None:
    a = RNG.standard_normal(256).astype("float16")
    want = np.maximum(a, np.float16(0)) * np.float16(2)
    np.testing.assert_array_equal(simt.run(k.relu_vectors(), a), want)


@pytest.mark.parametrize("bits", [32, 64, 128])
def test_explicit_moves(bits: int) -> None:
    a = RNG.standard_normal(256).astype("float32")
    np.testing.assert_array_equal(simt.run(k.wide_moves(bits), a), a)


def test_atomics_of_four() -> None:
    a, b = RNG.integers(-9, 9, 256).astype("float32"), np.zeros(256, "float32")
    simt.run(k.quadruples(), a, b, out_idx=None)
    np.testing.assert_array_equal(b, 3 * a)


def test_atomics_that_return() -> None:
    b, c = np.zeros(64, "int32"), np.zeros(1, "int32")
    simt.run(k.tickets(), np.ones(64, "int32"), b, c, out_idx=None)
    assert (sorted(b.tolist()), c.tolist()) == (list(range(64)), [64])


def test_variables_and_bits_and_block_orders() -> None:
    np.testing.assert_array_equal(simt.run(k.variable(), N), N + 5)
    np.testing.assert_array_equal(simt.run(k.bits_of(), A), A.view("int32"))
    np.testing.assert_array_equal(simt.run(k.rasterized(), A), A)


VOTES: dict[str, tuple[Any, Any]] = {
    "__any_sync": (
        lambda v: T.call_extern("int32", "__any_sync", 0xFFFFFFFF, v > 40),
        np.repeat([0, 1], 32),
    ),
    "any_sync": (lambda v: T.any_sync(v > 40), np.repeat([0, 1], 32)),
    "all_sync": (lambda v: T.all_sync(v > 31), np.repeat([0, 1], 32)),
    "ballot": (lambda v: T.ballot(v > 40), np.repeat([0, -512], 32)),
    "activemask": (lambda v: T.activemask(), np.repeat([-1, -1], 32)),
    "syncthreads_count": (lambda v: T.syncthreads_count(v > 40), np.repeat([23, 23], 32)),
    "syncthreads_and": (lambda v: T.syncthreads_and(v > 40), np.repeat([0, 0], 32)),
    "syncthreads_or": (lambda v: T.syncthreads_or(v > 40), np.repeat([1, 1], 32)),
}


@pytest.mark.parametrize("name", [n for n in VOTES if n[0] == "_" or hasattr(T, n)])
def test_votes(name: str) -> None:
    op, want = VOTES[name]
    kernel = k.per_thread(lambda v: T.cast(op(v), "int32"), "int32")
    np.testing.assert_array_equal(simt.run(kernel, N), want)


@pytest.mark.skipif(
    "batch" not in inspect.signature(T.reduce_sum).parameters,
    reason="reductions take a batch from 0.1.9 or later",
)
@pytest.mark.parametrize("batch", [1, 2])
def test_reductions_in_batches(batch: int) -> None:
    a = RNG.integers(-9, 9, (8, 128)).astype("float32")
    np.testing.assert_array_equal(simt.run(k.batch_reduced(batch), a), a.sum(1))


def test_infinities() -> None:
    assert simt.run(k.infinities()).tolist() == [np.inf, -np.inf]
