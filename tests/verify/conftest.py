"""How the command is run here: in a process of its own, in an empty project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from verify_cases import Done

ROOT = Path(__file__).resolve().parents[2]
Verify = Callable[..., Done]


def run(folder: Path, *arguments: str, **variables: str) -> Done:
    """Run `reducer-migrate verify` in a folder."""
    paths = (str(ROOT), str(ROOT / "rules"), str(ROOT / "compat"))
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *inherited]), **variables}
    done = subprocess.run(
        [sys.executable, "-m", "reducer_migrate", "verify", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def tilelang() -> None:
    """Skips a test where no TileLang is installed."""
    if find_spec("tilelang") is None:
        pytest.skip("tilelang is not installed (pip install 'reducer-migrate[compat]')")


@pytest.fixture(scope="session")
def releases() -> Path:
    """A directory that holds TileLang 0.1.13 side by side; skips where there is none."""
    directory = os.environ.get("REDUCER_RELEASES")
    if not directory or not Path(directory, "0.1.13", "tilelang").is_dir():
        pytest.skip("REDUCER_RELEASES holds no 0.1.13 (python -m tests.matrix installs it)")
    return Path(directory).resolve()
