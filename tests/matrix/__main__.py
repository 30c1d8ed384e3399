"""Install the tested TileLang releases side by side, and run the runtime's tests on each.

    python -m tests.matrix [--older | --releases 0.1.8,0.1.13] [--jobs 2] [pytest arguments]

Without arguments for pytest these are all the tests of the runtime and of the interpreter and a
few random kernels, some three minutes of one core for each release. `--older` leaves out the
release that is installed here, which `pytest` alone tests.

Releases go to `.releases/` (or `--into`) without their dependencies and stay there; torch,
numpy, z3-solver and the rest come from the environment that runs this.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from reducer_migrate.verify.releases import environment, install, installed_in
from reducer_rules.release import TVM_FFI

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Outcome:
    """What became of one release: its exit code, seconds, and everything it printed."""

    release: str
    code: int
    seconds: float
    output: str

    @property
    def last_line(self) -> str:
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def run(release: str, into: Path, arguments: Sequence[str]) -> Outcome:
    """Run the tests on one release."""
    start = time.monotonic()
    place = installed_in(into, release) or install(release, into)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(place), capture_output=True, text=True, check=False
    )
    return Outcome(release, done.returncode, time.monotonic() - start, done.stdout + done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix")
    parser.add_argument("--releases", default=",".join(TVM_FFI), help="comma-separated")
    parser.add_argument("--older", action="store_true", help="all but the installed release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--into", type=Path, default=ROOT / ".releases")
    options, arguments = parser.parse_known_args()
    chosen = [release for release in options.releases.split(",") if release]
    if options.older:
        chosen = [release for release in chosen if release != metadata.version("tilelang")]
    unknown = [release for release in chosen if release not in TVM_FFI]
    if unknown:
        parser.error(f"not tested: {', '.join(unknown)}; choose from {', '.join(TVM_FFI)}")
    paths = arguments or ["tests/compat", "tests/fuzz"]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda release: _reported(release, options.into, paths), chosen))
    return 1 if any(outcome.code for outcome in outcomes) else 0


def _reported(release: str, into: Path, arguments: Sequence[str]) -> Outcome:
    outcome = run(release, into, arguments)
    if outcome.code:
        print(outcome.output, flush=True)
    print(f"{release:8} {outcome.seconds:6.0f} s  {outcome.last_line}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
