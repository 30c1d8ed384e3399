"""One run over paths or over stdin: find, read, judge, report, count."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reducer_migrate.config import Config
from reducer_migrate.documents import SUFFIXES as DOCUMENTS
from reducer_migrate.files.backup import original_of
from reducer_migrate.files.ignore import Patterns
from reducer_migrate.files.read import read_candidate
from reducer_migrate.files.walk import Found, Item, Leftover, walk
from reducer_migrate.names import names_reducer
from reducer_migrate.pool import Candidate, Pool
from reducer_migrate.report.output import Output
from reducer_migrate.report.progress import Progress
from reducer_migrate.report.reporter import Reporter
from reducer_migrate.report.summary import Tally
from reducer_migrate.settings import Mode, Settings

if TYPE_CHECKING:
    from reducer_migrate.baseline import Baseline
    from reducer_migrate.diagnostic import Diagnostic
    from reducer_migrate.pipeline import Outcome


class Run:
    """The state of one run. The engine is loaded when the first file names a reducer.

    `config` is what holds for the run as a whole; `findings` is where the findings go, stdout
    unless a file was named. Where stdout is for a patch or for new text, they go to stderr.
    """

    def __init__(
        self,
        settings: Settings,
        config: Config,
        out: Output,
        err: Output,
        findings: Output | None = None,
    ) -> None:
        self.settings = settings
        self.config = config
        self.tally = Tally()
        self._out = out
        self._err = err
        self._findings = findings
        self._seen: set[tuple[int, int]] = set()
        self._checked: list[str] = []
        self._adopting: list[Diagnostic] = []
        self._progress = Progress(err.terminal and not settings.quiet)

    def paths(self, paths: Sequence[str], exclude: Patterns) -> int:
        """Deal with every file below `paths`; the exit code.

        Raises:
            ConfigError: the configuration of a file cannot be used.
        """
        reporter = self._reporter(self._err if self.settings.mode is Mode.DIFF else self._out)
        baseline = self._load_baseline(reporter)
        pool = Pool(self.settings, baseline)
        try:
            for outcome in pool.outcomes(self._items(walk(paths, exclude, self._suffixes()))):
                self._report(outcome, reporter)
        finally:
            self._progress.hide()
            pool.close()
        return self._finish(reporter, baseline)

    def stdin(self, raw: bytes, exclude: Patterns) -> int:
        """Rewrite `raw` onto stdout, unchanged where that fails; the exit code.

        `exclude` and the configuration count for the path that stdin was given.

        Raises:
            ConfigError: the configuration cannot be used.
        """
        mode = self.settings.mode
        path = self.settings.stdin_filename or "<stdin>"
        reporter = self._reporter(self._out if mode is Mode.CHECK else self._err)
        baseline = self._load_baseline(reporter)
        self.tally.files = 1
        self._checked.append(path)
        content = raw
        if names_reducer(raw) and not exclude.covers(os.path.abspath(path)):
            outcome = Pool(self.settings, baseline).process(path, raw, shown=path)
            if outcome is not None:
                content = outcome.new
                self._report(outcome, reporter)
        if mode is Mode.WRITE:
            self._out.bytes(content)
        return self._finish(reporter, baseline)

    def _suffixes(self) -> tuple[str, ...]:
        """What to look for in directories. A file that is named is looked at whatever its name."""
        return (".py", *DOCUMENTS) if self.config.include_docs else (".py",)

    def _reporter(self, usual: Output) -> Reporter:
        format = self.config.output_format or "text"
        return Reporter(self._findings or usual, format, self.settings.statistics)

    def _load_baseline(self, reporter: Reporter) -> Baseline | None:
        """The baseline to compare with; one that is broken is reported and left out."""
        path = self.config.baseline
        if path is None or self.settings.write_baseline:
            return None
        from reducer_migrate.baseline import Baseline, BrokenBaselineError

        try:
            return Baseline.load(path)
        except BrokenBaselineError as error:
            from reducer_migrate import fault
            from reducer_migrate.pipeline import Outcome

            diagnostic = fault.broken_baseline(path, error)
            self._report(Outcome(path, (diagnostic,), failed=True), reporter)
            return None

    def _items(self, found: Iterator[Item]) -> Iterator[Candidate | Outcome]:
        """The files that name a reducer operation, and what is wrong with others."""
        for item in found:
            if not isinstance(item, Found):
                yield from self._unreachable(item)
                continue
            try:
                content = read_candidate(item.path)
            except OSError as error:
                yield from self._unreadable(item.path, error)
                continue
            self.tally.files += 1
            self._checked.append(item.path)
            self._progress.advance(self.tally.files)
            if content is not None and content.identity not in self._seen:
                self._seen.add(content.identity)
                yield Candidate(item.path, content.raw)

    def _unreachable(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Leftover):
            assert not isinstance(item, Found)
            yield from self._unreadable(item.path, item.error)
            return
        from reducer_migrate import fault
        from reducer_migrate.pipeline import Outcome

        diagnostic = fault.leftover(item.path, original_of(item.path))
        yield Outcome(item.path, (diagnostic,), failed=True)

    def _unreadable(self, path: str, error: OSError) -> Iterator[Outcome]:
        if self.settings.config_of(path).excludes(path):
            return
        from reducer_migrate import fault
        from reducer_migrate.pipeline import Outcome

        yield Outcome(path, (fault.unreadable(path, error),), failed=True)

    def _report(self, outcome: Outcome, reporter: Reporter) -> None:
        if self.settings.write_baseline and not outcome.failed:
            self._adopting += outcome.diagnostics
            return
        self.tally.add(outcome)
        patch = self.settings.mode is Mode.DIFF and outcome.old != outcome.new
        if patch or (outcome.diagnostics or outcome.notes):
            self._progress.hide()
        if patch:
            from reducer_migrate.report.diff import unified

            self._out.bytes(unified(outcome.path, outcome.old, outcome.new))
        reporter.add(outcome)

    def _finish(self, reporter: Reporter, baseline: Baseline | None) -> int:
        reporter.close()
        self._out.flush()
        if self.settings.write_baseline:
            self._write_baseline()
        if baseline is not None:
            self.tally.stale = baseline.stale(self._checked, self.tally.adopted)
        if not self.settings.quiet:
            for line in self.tally.lines(self.settings.mode):
                self._err.text(line + "\n")
        self._err.flush()
        return self.tally.exit_code(self.settings.mode, bool(self.config.strict))

    def _write_baseline(self) -> None:
        from reducer_migrate.baseline import write

        path = self.config.baseline
        assert path is not None
        write(path, self._adopting)
        self.tally.written = (path, len(self._adopting))
