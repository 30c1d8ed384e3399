"""Files judged in this process, or in several, with the outcomes in the order of the files."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from reducer_migrate.settings import Settings

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from reducer_migrate.baseline import Baseline
    from reducer_migrate.pipeline import Outcome, Pipeline

#: Files handed out ahead of the one awaited, for each process: enough to keep all busy, few
#: enough that memory does not grow with the tree.
_AHEAD = 4


class Candidate(NamedTuple):
    """A file that names a reducer operation, and its content."""

    path: str
    raw: bytes


class Pool:
    """Judges candidates. The engine, or the processes, are started for the first of them."""

    def __init__(self, settings: Settings, baseline: Baseline | None) -> None:
        self._settings = settings
        self._baseline = baseline
        self._pipeline: Pipeline | None = None
        self._executor: ProcessPoolExecutor | None = None

    def outcomes(self, items: Iterable[Candidate | Outcome]) -> Iterator[Outcome]:
        """The outcome of each candidate, and each ready outcome at its place among them.

        Raises:
            ConfigError: the configuration of a file cannot be used.
        """
        if self._settings.jobs > 1:
            yield from self._parallel(items)
            return
        for item in items:
            outcome = self.process(*item) if isinstance(item, Candidate) else item
            if outcome is not None:
                yield outcome

    def process(self, path: str, raw: bytes, shown: str | None = None) -> Outcome | None:
        """Judge one file in this process; see `Pipeline.process`."""
        if self._pipeline is None:
            self._pipeline = _pipeline(self._settings, self._baseline)
        return self._pipeline.process(path, raw, shown)

    def close(self) -> None:
        """Stop the processes; what they are writing is finished, the rest is not begun."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _parallel(self, items: Iterable[Candidate | Outcome]) -> Iterator[Outcome]:
        waiting: deque[Callable[[], Outcome | None]] = deque()
        for item in items:
            waiting.append(self._result(item))
            if len(waiting) > _AHEAD * self._settings.jobs:
                yield from _present(waiting.popleft()())
        while waiting:
            yield from _present(waiting.popleft()())

    def _result(self, item: Candidate | Outcome) -> Callable[[], Outcome | None]:
        """What gives the outcome of an item, once it is there."""
        return self._submit(item).result if isinstance(item, Candidate) else lambda: item

    def _submit(self, candidate: Candidate) -> Future[Outcome | None]:
        if self._executor is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            self._executor = ProcessPoolExecutor(
                self._settings.jobs,
                mp_context=get_context("spawn"),
                initializer=_start,
                initargs=(self._settings, self._baseline),
            )
        return self._executor.submit(_work, candidate)


def _present(outcome: Outcome | None) -> Iterator[Outcome]:
    if outcome is not None:
        yield outcome


def _pipeline(settings: Settings, baseline: Baseline | None) -> Pipeline:
    from reducer_migrate.pipeline import Pipeline

    return Pipeline(settings, baseline)


_worker: list[Pipeline] = []


def _start(settings: Settings, baseline: Baseline | None) -> None:
    """Set up a worker process. An interrupt reaches every process; only the parent heeds it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker.append(_pipeline(settings, baseline))


def _work(candidate: Candidate) -> Outcome | None:
    return _worker[0].process(*candidate)
