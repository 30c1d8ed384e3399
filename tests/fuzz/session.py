"""Workers for several releases, and what became of the kernels they were given."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reducer_migrate.verify.releases import environment
from tests.fuzz.generate import generate
from tests.fuzz.kernel import Kernel, encoded
from tests.fuzz.known import explanation
from tests.fuzz.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
#: The columns of a summary.
COLUMNS = (
    "right",
    "different",
    "known",
    "TileLang wrong",
    "beyond TileLang",
    "mispredicted",
    "unsupported",
    "skipped",
)
#: Seconds that a kernel may take in all lanes, and that shrinking one may.
PATIENCE = 1800
SHRINK_PATIENCE = 3600


@dataclass(frozen=True)
class Outcome:
    """What became of a kernel on one release, in one lane."""

    kernel: Kernel
    release: str
    lane: str
    verdict: Verdict

    @property
    def known(self) -> str:
        """The name of the known fault that this shows, or nothing."""
        return explanation(self.kernel, self.release, self.lane, self.verdict)

    @property
    def different(self) -> bool:
        """Whether this is a difference that nothing explains."""
        return not self.verdict.accounted and not self.known

    @property
    def column(self) -> str:
        """The heading under which a summary counts it."""
        different = not self.verdict.accounted
        return "known" if different and self.known else self.verdict.column

    @property
    def group(self) -> tuple[str, str, str]:
        """Alike for outcomes that show the same trouble."""
        return (self.lane, self.verdict.culprit, self.verdict.signature)


class StoppedError(Exception):
    """A worker ended or took too long; the argument is the status."""


class Worker:
    """A process with one TileLang: `place` is its directory, None for the one that is installed."""

    def __init__(self, place: Path | None) -> None:
        env = dict(os.environ) if place is None else environment(place)
        own = [str(ROOT), str(ROOT / "rules"), str(ROOT / "compat")]
        held = env.get("PYTHONPATH")
        env["PYTHONPATH"] = os.pathsep.join([*([held] if held else []), *own])
        env.pop("REDUCER_COMPAT", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"],
            cwd=ROOT,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, question: dict[str, Any], patience: float) -> Any:
        """The worker's answer.

        Raises:
            StoppedError: it crashed, or did not answer in time.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(patience, stop)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            raise StoppedError("late" if late.is_set() else "crashed")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def run(
    places: dict[str, Path | None],
    seed: int,
    numbers: Sequence[int],
    jobs: int = 1,
    lanes: Sequence[str] = (),
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Every kernel on every release; `places` names them, `report` hears of each outcome.

    An interrupt lets every worker finish its kernel.
    """
    stop = threading.Event()
    shares = max(1, jobs // len(places))
    tasks = [
        (release, place, numbers[share::shares])
        for release, place in places.items()
        for share in range(shares)
    ]

    def work(task: tuple[str, Path | None, Sequence[int]]) -> list[Outcome]:
        release, place, mine = task
        kernels = (generate(seed, number) for number in mine)
        found = []
        unstopped = itertools.takewhile(lambda kernel: not stop.is_set(), kernels)
        for outcome in replayed(release, place, unstopped, lanes):
            report(outcome)
            found.append(outcome)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        try:
            return [outcome for part in pool.map(work, tasks) for outcome in part]
        except KeyboardInterrupt:
            stop.set()
            raise


def replayed(
    release: str, place: Path | None, kernels: Iterable[Kernel], lanes: Sequence[str]
) -> Iterator[Outcome]:
    """What one release makes of kernels; a process that ends is replaced."""
    worker = Worker(place)
    try:
        for kernel in kernels:
            try:
                asked = {"kernel": encoded(kernel), "lanes": list(lanes)}
                verdicts = worker.ask(asked, PATIENCE)
            except StoppedError as stop:
                worker.close()
                worker = Worker(place)
                yield Outcome(kernel, release, "", Verdict(str(stop)))
                continue
            for lane, fields in verdicts.items():
                fields["foreseen"] = tuple(fields["foreseen"])
                yield Outcome(kernel, release, lane, Verdict(**fields))
    finally:
        worker.close()


def reproducer(outcome: Outcome, place: Path | None, tries: int) -> str:
    """The text of a file that shows an outcome, after at most `tries` steps of shrinking.

    Raises:
        StoppedError: the process did not survive it.
    """
    worker = Worker(place)
    question = {"kernel": encoded(outcome.kernel), "shrink": outcome.lane, "tries": tries}
    try:
        return str(worker.ask(question, SHRINK_PATIENCE)["text"])
    finally:
        worker.close()


def summary(outcomes: Iterable[Outcome]) -> str:
    """A table of how many kernels came out how, by release and lane."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for outcome in outcomes:
        counts[outcome.release, outcome.lane or "(process)", outcome.column] += 1
    rows = sorted({(release, lane) for release, lane, _ in counts}, key=_by_release)
    lines = [f"{'release':8} {'lane':10}" + "".join(f"{column:>16}" for column in COLUMNS)]
    for release, lane in rows:
        cells = "".join(f"{counts[release, lane, column]:16}" for column in COLUMNS)
        lines.append(f"{release:8} {lane:10}{cells}")
    return "\n".join(lines)


def _by_release(row: tuple[str, str]) -> tuple[list[int], str]:
    release, lane = row
    return [int(part) for part in release.split(".") if part.isdigit()], lane
