"""How long a run takes, beside ruff and the interpreter's own start.

    python benchmarks/check_speed.py CHECKOUT [--rounds 7]

CHECKOUT is a tree of Python files, best a checkout of tile-ai/tilelang, which the limits below
were set for. The commands take turns, so that a busy moment of the machine meets all of them;
the medians and their ratios are printed, and the exit code is 1 where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The commands run this working tree, installed or not, and compiled once, as an installed one is.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules"))),
    "PYTHONDONTWRITEBYTECODE": "",
}
PROGRAM = [sys.executable, "-m", "reducer_migrate"]


@dataclass(frozen=True)
class Limit:
    """`numerator` may take at most `factor` times as long as `denominator`."""

    numerator: str
    denominator: str
    factor: float


LIMITS = (
    Limit("reducer-migrate --check", "ruff check", 1.0),
    Limit("reducer-migrate --help", "python -c pass", 6.0),
    Limit("a file without reducers", "python -c pass", 6.0),
)
REWRITE_SECONDS = 2.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    commands = _commands(arguments.checkout)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(arguments.rounds + 1):
        for name, command in commands.items():
            seconds[name].append(_time(lambda command=command: _run(command, arguments.checkout)))
    # The first round warms the caches of the file system and of the interpreter.
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    medians["reducer-migrate, rewriting"] = _rewriting(arguments.checkout)
    return _report(medians)


def _commands(checkout: Path) -> dict[str, list[str]]:
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import click": [sys.executable, "-c", "import click"],
        "reducer-migrate --help": [*PROGRAM, "--help"],
        "a file without reducers": [*PROGRAM, str(_plain_file(checkout))],
        "reducer-migrate --check": [*PROGRAM, "--check", "."],
        "ruff check": ["ruff", "check", "--no-cache", "--isolated", "--quiet", "."],
    }


def _plain_file(checkout: Path) -> Path:
    return next(
        path.resolve()
        for path in sorted(checkout.rglob("*.py"))
        if b"reducer" not in path.read_bytes()
    )


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, env=ENVIRONMENT, capture_output=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr.decode()}")


def _time(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _rewriting(checkout: Path) -> float:
    """The median of three rewrites, each of a fresh copy."""
    times = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "checkout")
            shutil.copytree(checkout, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            command = [*PROGRAM, "--tilelang", "0.1.15", "."]
            times.append(_time(lambda copy=copy, command=command: _run(command, copy)))
    return statistics.median(times)


def _report(medians: dict[str, float]) -> int:
    for name, median in medians.items():
        print(f"{name:28} {median * 1000:8.0f} ms")
    exceeded = False
    for limit in LIMITS:
        ratio = medians[limit.numerator] / medians[limit.denominator]
        exceeded |= ratio > limit.factor
        print(
            f"{limit.numerator} / {limit.denominator}: {ratio:.2f}x"
            f" (at most {limit.factor:g}x){'' if ratio <= limit.factor else '  EXCEEDED'}"
        )
    exceeded |= medians["reducer-migrate, rewriting"] > REWRITE_SECONDS
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
