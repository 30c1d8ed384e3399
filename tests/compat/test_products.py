"""Reducers of what `T.gemm` leaves in registers, whose layout the tensor cores choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from reducer_compat.adapter import adapter
from reducer_rules.release import Release

M, N, K, BLOCK = 64, 64, 64, 32


def of_a_pipelined_product() -> Any:
    """The row sums and the row maxima of one product, summed up over a pipelined loop."""

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K), "float16"),
        R: T.Tensor((2, M), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, BLOCK), "float16")
            b = T.alloc_shared((N, BLOCK), "float16")
            c = T.alloc_fragment((M, N), "float32")
            total = T.alloc_reducer((M,), "float32")
            greatest = T.alloc_reducer((M,), "float32", op="max")
            sums = T.alloc_fragment((M,), "float32")
            maxima = T.alloc_fragment((M,), "float32")
            T.clear(c)
            for k in T.Pipelined(K // BLOCK, num_stages=2):
                T.copy(A[0, k * BLOCK], a)
                T.copy(B[0, k * BLOCK], b)
                T.gemm(a, b, c, transpose_B=True)
            T.reducer_init(total)
            T.reducer_init(greatest)
            for i, j in T.Parallel(M, N):
                T.reducer_update(total[i], c[i, j])
                T.reducer_update(greatest[i], c[i, j])
            T.finalize_reducer(total, sums)
            T.finalize_reducer(greatest, maxima)
            for i in T.Parallel(M):
                R[0, i] = sums[i]
                R[1, i] = maxima[i]

    return kernel


def of_each_product() -> Any:
    """As attention has it: an epoch for each block of columns, its maxima kept beside."""

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K), "float16"),
        R: T.Tensor((2, M), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, K), "float16")
            b = T.alloc_shared((BLOCK, K), "float16")
            c = T.alloc_fragment((M, BLOCK), "float32")
            total = T.alloc_reducer((M,), "float32")
            greatest = T.alloc_reducer((M,), "float32", op="max")
            block_max = T.alloc_fragment((M,), "float32")
            maxima = T.alloc_fragment((M,), "float32")
            sums = T.alloc_fragment((M,), "float32")
            T.copy(A, a)
            T.fill(maxima, -T.infinity("float32"))
            T.reducer_init(total)
            for n in T.serial(N // BLOCK):
                T.copy(B[n * BLOCK, 0], b)
                T.clear(c)
                T.gemm(a, b, c, transpose_B=True)
                T.reducer_init(greatest)
                for i, j in T.Parallel(M, BLOCK):
                    T.reducer_update(greatest[i], c[i, j])
                    T.reducer_update(total[i], c[i, j])
                T.finalize_reducer(greatest, block_max)
                for i in T.Parallel(M):
                    maxima[i] = T.max(maxima[i], block_max[i])
            T.finalize_reducer(total, sums)
            for i in T.Parallel(M):
                R[0, i] = sums[i]
                R[1, i] = maxima[i]

    return kernel


def operands() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return tuple(rng.integers(-3, 4, (rows, K)).astype("float16") for rows in (M, N))  # type: ignore[return-value]


@pytest.mark.parametrize("build", [of_a_pipelined_product, of_each_product])
def test_a_reducer_of_a_product_is_right(build: Callable[[], Any]) -> None:
    a, b = operands()
    product = a.astype("float32") @ b.T.astype("float32")
    wanted = np.stack([product.sum(1), product.max(1)])
    np.testing.assert_array_equal(simt.run(build(), a, b), wanted)


@pytest.mark.skipif(
    adapter().release < Release.parse("0.1.10"),
    reason="0.1.8 and 0.1.9 have room for what they load",
)
def test_what_tilelang_does_to_a_product_on_sm_75_is_a_fault() -> None:
    """It loads 16x16 elements for products of 16x8x8: twice what a thread's array holds."""
    found = simt.execute(of_each_product(), *operands(), target="sm_75").report.faults
    assert {fault.kind for fault in found} == {"out-of-bounds"}
    assert any("A_local" in str(fault) and "ptx_ldmatrix" in str(fault) for fault in found)


def test_the_tensor_cores_of_sm_90_are_said_to_be_unknown() -> None:
    with pytest.raises(simt.UnsupportedError, match="never guesses"):
        simt.run(of_each_product(), *operands(), target="sm_90")
