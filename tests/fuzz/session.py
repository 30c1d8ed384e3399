"""Workers for several releases, and what became of the kernels they were given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from reducer_migrate.verify.releases import environment
from tests.fuzz.generate import generate
from tests.fuzz.kernel import Kernel, encoded
from tests.fuzz.outcome import Outcome
from tests.fuzz.plan import Share
from tests.fuzz.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
#: Seconds that a kernel may take in all lanes, a process may take to begin, and shrinking may.
PATIENCE = 300
START_PATIENCE = 600
SHRINK_PATIENCE = 3600
#: How far ahead of the others a release may run: a campaign that is stopped has run the first
#: kernels everywhere, and yet processes are seldom started.
WINDOW = 1000


class StoppedError(Exception):
    """A worker ended or took too long; the argument is the status."""


class StartError(Exception):
    """A process that could not import its TileLang; the argument is what it said last."""


class Worker:
    """A process with one TileLang: `place` is its directory, None for the one that is installed.

    Raises:
        StartError: it could not start.
    """

    def __init__(self, place: Path | None) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"],
            cwd=ROOT,
            env=_surroundings(place),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )
        try:
            self.ask({}, START_PATIENCE)
        except StoppedError as stopped:
            where = place or "installed here"
            raise StartError(
                f"TileLang {where} {stopped} at its start: {self.last_words()}"
            ) from stopped

    def last_words(self) -> str:
        """The end of what the process wrote to its standard error."""
        self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return " ".join(line.strip() for line in lines[-2:])[:400]

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
        self._said.close()


def _surroundings(place: Path | None) -> dict[str, str]:
    """The environment of a worker."""
    env = dict(os.environ) if place is None else environment(place)
    own = [str(ROOT), str(ROOT / "rules"), str(ROOT / "compat")]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), *own]))
    # One thread a process: as many processes as there are cores share the machine.
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env.pop("REDUCER_COMPAT", None)
    return env


def run(
    places: dict[str, Path | None],
    seed: int,
    shares: Sequence[Share],
    jobs: int = 1,
    report: Callable[[Outcome], None] = lambda outcome: None,
    patience: float = PATIENCE,
    stop: threading.Event | None = None,
) -> list[Outcome]:
    """Carry out shares of a campaign in `jobs` processes at once.

    Raises:
        StartError: a release cannot be imported.

    `places` says where releases lie, `report` hears of each outcome, one at a time. When `stop`
    is set, or at an interrupt, every process finishes its kernel.
    """
    stop = stop or threading.Event()
    waiting = sorted(shares, key=lambda share: share.first)
    lock = threading.Lock()

    def following(release: str) -> Share | None:
        """The next share, of the same release where that leaves none far behind."""
        with lock:
            if not waiting:
                return None
            last = waiting[0].first + WINDOW
            near = [share for share in waiting if share.first <= last]
            same = [share for share in near if share.release == release]
            chosen = (same or near)[0]
            waiting.remove(chosen)
            return chosen

    def work(first: str) -> list[Outcome]:
        found = []
        share = following(first)
        while share is not None and not stop.is_set():
            try:
                for outcome in _carried_out(share, places[share.release], seed, patience, stop):
                    with lock:
                        report(outcome)
                    found.append(outcome)
            except StartError:
                stop.set()
                raise
            share = following(share.release)
        return found

    begun = _spread([share.release for share in shares], jobs)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            return [outcome for part in pool.map(work, begun) for outcome in part]
        except KeyboardInterrupt:
            stop.set()
            raise


def _spread(releases: Sequence[str], jobs: int) -> list[str]:
    """The release that each job begins with, in proportion to their shares."""
    if not releases:
        return []
    ordered = sorted(releases)
    return [ordered[index * len(ordered) // jobs] for index in range(jobs)]


def _carried_out(
    share: Share, place: Path | None, seed: int, patience: float, stop: threading.Event
) -> Iterator[Outcome]:
    """What one release makes of a share; a process that ends is replaced."""
    worker = Worker(place)
    try:
        for number, lanes in share.kernels:
            if stop.is_set():
                return
            kernel = generate(seed, number)
            asked = {"kernel": encoded(kernel), "lanes": list(lanes)}
            try:
                verdicts = worker.ask(asked, patience)
            except StoppedError as stopped:
                worker.close()
                yield _stopped(kernel, share.release, place, lanes, str(stopped), patience)
                worker = Worker(place)
                continue
            for lane, fields in verdicts.items():
                fields |= {name: tuple(fields[name]) for name in ("foreseen", "remarks")}
                yield Outcome(kernel.name, share.release, lane, Verdict(**fields))
    finally:
        worker.close()


def _stopped(
    kernel: Kernel,
    release: str,
    place: Path | None,
    lanes: Sequence[str],
    status: str,
    patience: float,
) -> Outcome:
    """Which lane ended a process, and whether the kernel without reducers does so too."""
    for lane in lanes:
        if _ends(place, {"kernel": encoded(kernel), "lanes": [lane]}, patience):
            alone = _ends(place, {"kernel": encoded(kernel), "control": True}, patience)
            culprit = "tilelang" if alone else ""
            return Outcome(kernel.name, release, lane, Verdict(status, culprit=culprit))
    return Outcome(kernel.name, release, "", Verdict(status, "in no lane by itself"))


def _ends(place: Path | None, question: dict[str, Any], patience: float) -> bool:
    worker = Worker(place)
    try:
        worker.ask(question, patience)
    except StoppedError:
        return True
    finally:
        worker.close()
    return False


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
