"""The benchmark measures what the codemod writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reducer_migrate import migrate

KERNELS = Path(__file__).resolve().parent.parent / "benchmarks" / "kernel_bench"


def test_the_kernels_in_v2_are_those_in_v1_rewritten() -> None:
    result = migrate((KERNELS / "legacy.py").read_text(), tilelang="0.1.15")
    assert result.text == (KERNELS / "shipped.py").read_text()


def test_what_was_not_timed_is_a_failure(tmp_path: Path) -> None:
    """A release that does not start must not pass for one without a slow kernel."""
    broken = tmp_path / "0.1.99" / "tilelang"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text('raise ImportError("broken")\n')
    command = [sys.executable, KERNELS.parent / "kernels.py", "--releases", tmp_path]
    done = subprocess.run(
        [*command, "--only", "block_sum", "--variants", "ours"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "0.1.99, canonical: does not start" in done.stderr
    assert "not timed: 3 of ours" in done.stderr
