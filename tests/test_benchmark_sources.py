"""The benchmark measures what the codemod writes."""

from __future__ import annotations

from pathlib import Path

from reducer_migrate import migrate

KERNELS = Path(__file__).resolve().parent.parent / "benchmarks" / "kernel_bench"


def test_the_kernels_in_v2_are_those_in_v1_rewritten() -> None:
    result = migrate((KERNELS / "legacy.py").read_text(), tilelang="0.1.15")
    assert result.text == (KERNELS / "shipped.py").read_text()
