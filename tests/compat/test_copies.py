"""Copies that the tensor memory accelerator cannot make: stages of no multiple of 128 bytes.

Tiles of 8x96, 32x8 and 5x56 ended in a misaligned address on an H200 with 0.1.10 and 0.1.12.
`test_kernels.py` runs them as lowered by us; here is what the interpreter says of the others.
"""

from __future__ import annotations

import numpy as np
import pytest

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
