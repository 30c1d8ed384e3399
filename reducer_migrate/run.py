"""One run over paths or over stdin: find, read, judge, report, count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reducer_migrate.files.backup import original_of
from reducer_migrate.files.ignore import Patterns
from reducer_migrate.files.read import read_candidate
from reducer_migrate.files.walk import Found, Item, Leftover, walk
from reducer_migrate.names import names_reducer
from reducer_migrate.report.output import Output
from reducer_migrate.report.progress import Progress
from reducer_migrate.report.summary import Tally
from reducer_migrate.settings import Mode, Settings

if TYPE_CHECKING:
    from reducer_migrate.pipeline import Outcome, Pipeline


class Run:
    """The state of one run. The engine is loaded when the first file names a reducer."""

    def __init__(self, settings: Settings, out: Output, err: Output) -> None:
        self.settings = settings
        self.tally = Tally()
        self._out = out
        self._err = err
        self._pipeline: Pipeline | None = None
        self._seen: set[tuple[int, int]] = set()
        self._progress = Progress(err.terminal and not settings.quiet)

    def paths(self, paths: Sequence[str], exclude: Patterns) -> int:
        """Deal with every file below `paths`; the exit code."""
        findings = self._err if self.settings.mode is Mode.DIFF else self._out
        try:
            for item in walk(paths, exclude):
                for outcome in self._outcomes(item):
                    self._report(outcome, findings)
        finally:
            self._progress.hide()
        return self._finish()

    def stdin(self, raw: bytes) -> int:
        """Rewrite `raw` onto stdout, unchanged where that fails; the exit code."""
        mode = self.settings.mode
        self.tally.files = 1
        content = raw
        if names_reducer(raw):
            outcome = self._judge().process("<stdin>", raw, shown="<stdin>")
            content = outcome.new
            self._report(outcome, self._out if mode is Mode.CHECK else self._err)
        if mode is Mode.WRITE:
            self._out.bytes(content)
        return self._finish()

    def _outcomes(self, item: Item) -> Iterator[Outcome]:
        """What one item of the walk comes to; nothing for a file without reducers."""
        if not isinstance(item, Found):
            yield self._unreachable(item)
            return
        try:
            content = read_candidate(item.path)
        except OSError as error:
            yield self._unreadable(item.path, error)
            return
        self.tally.files += 1
        self._progress.advance(self.tally.files)
        if content is None or content.identity in self._seen:
            return
        self._seen.add(content.identity)
        yield self._judge().process(item.path, content.raw)

    def _unreachable(self, item: Item) -> Outcome:
        from reducer_migrate import fault
        from reducer_migrate.pipeline import Outcome

        if isinstance(item, Leftover):
            diagnostic = fault.leftover(item.path, original_of(item.path))
            return Outcome(item.path, (diagnostic,), failed=True)
        assert not isinstance(item, Found)
        return self._unreadable(item.path, item.error)

    def _unreadable(self, path: str, error: OSError) -> Outcome:
        from reducer_migrate import fault
        from reducer_migrate.pipeline import Outcome

        return Outcome(path, (fault.unreadable(path, error),), failed=True)

    def _judge(self) -> Pipeline:
        if self._pipeline is None:
            from reducer_migrate.pipeline import Pipeline

            self._pipeline = Pipeline(self.settings)
        return self._pipeline

    def _report(self, outcome: Outcome, findings: Output) -> None:
        self.tally.add(outcome)
        patch = self.settings.mode is Mode.DIFF and outcome.old != outcome.new
        said = (*outcome.notes, *outcome.diagnostics)
        if not patch and not said:
            return
        self._progress.hide()
        if patch:
            from reducer_migrate.report.diff import unified

            self._out.bytes(unified(outcome.path, outcome.old, outcome.new))
        if said:
            from reducer_migrate.report.render import ansi, plain, render

            style = ansi if findings.colour else plain
            for diagnostic in said:
                findings.text(render(diagnostic, style))

    def _finish(self) -> int:
        self._out.flush()
        if self._pipeline is not None:
            self.tally.sources = self._pipeline.sources
            self.tally.problems = self._pipeline.releases.problems
        if not self.settings.quiet:
            for line in self.tally.lines(self.settings.mode):
                self._err.text(line + "\n")
        self._err.flush()
        return self.tally.exit_code(self.settings.mode, self.settings.strict)
