"""Install the tested TileLang releases side by side, and run the runtime's tests on each.

    python -m tests.matrix [--older | --releases 0.1.8,0.1.13] [--jobs 2] [pytest arguments]

Without arguments for pytest these are all the tests of the runtime and of the interpreter, a few
random kernels, and the release's side of the ranges of RM3xx: of many alike cases an older release
runs a share, which takes two cores about three minutes. `--older` leaves out the release that is
installed here, which `pytest` alone tests. Two or more of `--jobs` processes share the tests of a
release, so that none waits for the last.

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
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from reducer_migrate.verify.releases import VARIABLE, environment, install, installed_in
from reducer_rules.release import TVM_FFI

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ("tests/compat", "tests/fuzz", "tests/releases")


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


def run(release: str, place: Future[Path], processes: int, arguments: Sequence[str]) -> Outcome:
    """Run the tests on one release, once it is installed."""
    env = _alone(place.result())
    start = time.monotonic()
    shared = ["-n", str(processes), "--dist", "loadfile"] if processes > 1 else []
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *shared, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    outcome = Outcome(release, done.returncode, time.monotonic() - start, done.stdout + done.stderr)
    if outcome.code:
        print(outcome.output, flush=True)
    print(f"{release:8} {outcome.seconds:6.0f} s  {outcome.last_line}", flush=True)
    return outcome


def _alone(place: Path) -> dict[str, str]:
    """The environment of a process that sees one release, and has one core."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found = {**environment(place), **one}
    found.pop(VARIABLE, None)
    return found


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
    if unknown or not chosen:
        parser.error(f"not tested: {', '.join(unknown)}; choose from {', '.join(TVM_FFI)}")

    def installed(release: str) -> Path:
        return installed_in(options.into, release) or install(release, options.into)

    paths = arguments or TESTS
    processes = min(options.jobs, max(2, options.jobs // len(chosen)))
    # The next release is installed while the tests of one run.
    with ThreadPoolExecutor(1) as pip, ThreadPoolExecutor(options.jobs // processes) as pool:
        places = {release: pip.submit(installed, release) for release in chosen}
        running = [pool.submit(run, *item, processes, paths) for item in places.items()]
        return 1 if any(each.result().code for each in running) else 0


if __name__ == "__main__":
    sys.exit(main())
