"""One probe of each release: `REDUCER_RELEASES=DIR pytest tests/releases` runs them all.

DIR holds side-by-side installs, `DIR/0.1.13/tilelang` and so on. Without it the tests run on the
TileLang that is importable, and the others are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from reducer_migrate.verify import releases
from reducer_rules.release import TESTED, Release

ROOT = Path(__file__).parents[2]
SECONDS = 600


@dataclass(frozen=True)
class Outcome:
    """What a release made of one case: an error of its compiler, or values and faults.

    `script` is the device TIR where the interpreter does not know some operation in it.
    """

    error: str = ""
    values: tuple[float, ...] = ()
    faults: tuple[str, ...] = ()
    script: str = ""

    def sums_to(self, *values: float) -> bool:
        """Whether it compiled, ran without a fault and gave these outputs (one: all alike)."""
        wanted = values * len(self.values) if len(values) == 1 else values
        return bool(self.values) and not self.faults and self.values == wanted


@dataclass(frozen=True)
class Probe:
    """One release and the outcome of every case on it."""

    release: Release
    outcomes: dict[str, Outcome]

    def __getitem__(self, name: str) -> Outcome:
        return self.outcomes[name]

    def within(self, releases: tuple[Release, ...]) -> bool:
        return self.release in releases


def install(release: Release) -> Path | None:
    """Where to import a release from: a directory, or None for the environment's own.

    Skips the test where there is none.
    """
    directory = os.environ.get("REDUCER_RELEASES")
    if directory:
        path = Path(directory) / str(release)
        if not path.is_dir():
            pytest.skip(f"REDUCER_RELEASES holds no {release}")
        return path
    try:
        installed = version("tilelang")
    except PackageNotFoundError:
        pytest.skip("no TileLang is installed and REDUCER_RELEASES is not set")
    if Release.parse(installed) != release:
        pytest.skip(f"TileLang {installed} is installed and REDUCER_RELEASES is not set")
    return None


def environment(path: Path | None) -> dict[str, str]:
    """The environment of a probe: the release first, then the project."""
    own = [str(ROOT), str(ROOT / "rules"), str(ROOT / "compat")]
    paths = os.pathsep.join(filter(None, [*own, os.environ.get("PYTHONPATH")]))
    # The interpreter comes with the runtime, which would repair what is to be observed.
    return releases.environment(path, {**os.environ, "PYTHONPATH": paths, "REDUCER_COMPAT": "off"})


@cache
def probe(release: Release, path: Path | None) -> Probe:
    """Run every case on one release, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.releases.probe"],
        cwd=ROOT,
        env=environment(path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            rows[row.pop("name")] = row
    assert Release.parse(rows.pop("release")["values"]) == release
    return Probe(release, {name: _outcome(row) for name, row in rows.items()})


def _outcome(row: dict[str, Any]) -> Outcome:
    return Outcome(
        row.get("error", ""),
        tuple(row.get("values", ())),
        tuple(row.get("faults", ())),
        row.get("script", ""),
    )


@pytest.fixture(scope="session", params=TESTED, ids=str)
def probed(request: pytest.FixtureRequest) -> Probe:
    release: Release = request.param
    return probe(release, install(release))
