"""Copies that the tensor memory accelerator cannot make: stages of no multiple of 128 bytes, and
bulk copies of no multiple of 16.

Tiles of 8x96, 32x8 and 5x56 ended in a misaligned address on an H200 with 0.1.10 and 0.1.12.
`test_kernels.py` runs them as lowered by us; here is what the interpreter says of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

import reducer_compat
from reducer_compat import simt
from reducer_compat.adapter import adapter
from reducer_rules.release import Release
from tests.releases.kernels import gemv


@pytest.mark.skipif(
    not Release.parse("0.1.9") <= adapter().release <= Release.parse("0.1.12"),
    reason="from 0.1.13 TileLang copies one row by bytes, which needs 16 of them",
)
def test_the_interpreter_sees_what_faults_on_a_gpu() -> None:
    """TileLang's own lowering of a GEMV with tiles of 8x96."""
    half = np.ones((8, 384), np.float16)
    reducer_compat.uninstall()
    try:
        kernel = gemv(128, (8, 96))
        report = simt.execute(kernel, half, half[0], out_idx=-1, target="sm_90").report
    finally:
        reducer_compat.install()
    assert "misaligned" in {fault.kind for fault in report.faults}


def sum_of_rows(columns: int) -> Any:
    """The sums of the columns of two rows, each copied to shared memory."""

    @T.prim_func
    def kernel(A: T.Tensor((2, columns), "int8"), B: T.Tensor((columns,), "float32")):
        with T.Kernel(1, threads=64):
            row = T.alloc_shared((columns,), "int8")
            acc = T.alloc_reducer((columns,), "float32", op="sum")
            result = T.alloc_fragment((columns,), "float32")
            T.reducer_init(acc)
            for k in T.serial(2):
                T.copy(A[k, 0:columns], row)
                for i in T.Parallel(columns):
                    T.reducer_update(acc[i], T.cast(row[i], "float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def plain_rows(columns: int) -> Any:
    """The same without a reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((2, columns), "int8"), B: T.Tensor((columns,), "float32")):
        with T.Kernel(1, threads=64):
            row = T.alloc_shared((columns,), "int8")
            acc = T.alloc_fragment((columns,), "float32")
            T.clear(acc)
            for k in T.serial(2):
                T.copy(A[k, 0:columns], row)
                for i in T.Parallel(columns):
                    acc[i] += T.cast(row[i], "float32")
            T.copy(acc, B)

    return kernel


def rows(columns: int) -> np.ndarray:
    return np.arange(2 * columns, dtype=np.int8).reshape(2, columns)


@pytest.mark.parametrize("columns", [2, 8, 24, 40, 48])
def test_rows_of_any_length_are_copied(columns: int) -> None:
    given = rows(columns)
    got = simt.run(sum_of_rows(columns), given, target="sm_90")
    np.testing.assert_array_equal(got, given.sum(0))


@pytest.mark.skipif(
    adapter().release != Release.parse("0.1.8"), reason="later releases copy such rows otherwise"
)
@pytest.mark.parametrize("columns", [2, 8, 24])
def test_bulk_copies_of_no_multiple_of_16_bytes_are_seen(columns: int) -> None:
    reducer_compat.uninstall()
    try:
        report = simt.execute(plain_rows(columns), rows(columns), target="sm_90").report
    finally:
        reducer_compat.install()
    assert "misaligned" in {fault.kind for fault in report.faults}
