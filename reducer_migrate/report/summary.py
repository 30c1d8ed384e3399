"""The last words of a run, on stderr: what was looked at, what was done, what remains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reducer_migrate.settings import Mode

if TYPE_CHECKING:
    from reducer_migrate.diagnostic import Diagnostic
    from reducer_migrate.pipeline import Outcome


class Tally:
    """Counts what happened in a run; holds no findings, so it stays small."""

    def __init__(self) -> None:
        self.files = 0
        self.failed = 0
        self.edited = 0
        self.reducers = 0
        self.severities = {"error": 0, "warning": 0, "note": 0}
        self.suppressed = 0
        self.stale = 0
        self.adopted: list[Diagnostic] = []
        self.written: tuple[str, int] | None = None
        self.sources: dict[str, None] = {}
        self.problems: dict[str, None] = {}

    def add(self, outcome: Outcome) -> None:
        """Count one judged file."""
        self.failed += outcome.failed
        self.edited += outcome.edited
        self.reducers += outcome.rewritten
        self.suppressed += outcome.suppressed
        self.adopted += outcome.adopted
        if outcome.judged:
            self.sources[outcome.judged] = None
        self.problems.update(dict.fromkeys(outcome.problems))
        for diagnostic in outcome.diagnostics:
            self.severities[diagnostic.severity.value] += 1

    @property
    def findings(self) -> int:
        """Every finding that remains, whatever its weight."""
        return sum(self.severities.values())

    def exit_code(self, mode: Mode, strict: bool) -> int:
        """0 nothing left to do, 1 findings or a pending edit, 2 a file could not be dealt with."""
        if self.failed:
            return 2
        pending = self.edited and mode is not Mode.WRITE
        failing = self.findings if strict else self.severities["error"]
        return 1 if pending or failing else 0

    def lines(self, mode: Mode) -> list[str]:
        """The summary, one sentence a line."""
        lines = [f"warning: {problem}" for problem in self.problems]
        lines.append(
            f"{self._work(mode)} {self._remaining()} {_count(self.files, 'file')} checked."
        )
        if self.failed:
            lines.append(f"{_count(self.failed, 'file')} skipped because of an error.")
        lines += self._silent()
        if self.sources:
            lines.append("Judged against " + ", ".join(self.sources) + ".")
        return lines

    def _silent(self) -> Iterator[str]:
        """What was found and is not reported, and what became of the baseline."""
        if self.suppressed:
            yield f"{_count(self.suppressed, 'finding')} suppressed by comments."
        if self.adopted:
            yield f"{_count(len(self.adopted), 'finding')} in the baseline."
        if self.stale:
            verb = "is" if self.stale == 1 else "are"
            yield (
                f"{_count(self.stale, 'baseline entry', 'baseline entries')} {verb} gone: write "
                "the baseline again with `--write-baseline`."
            )
        if self.written is not None:
            path, number = self.written
            yield f"Wrote {_count(number, 'finding')} to the baseline {path}."

    def _work(self, mode: Mode) -> str:
        if not self.edited:
            return "Nothing to rewrite."
        verb = "Rewrote" if mode is Mode.WRITE else "Would rewrite"
        return f"{verb} {_count(self.reducers, 'reducer')} in {_count(self.edited, 'file')}."

    def _remaining(self) -> str:
        if not self.findings:
            return "No findings."
        words = ", ".join(
            _count(number, severity) for severity, number in self.severities.items() if number
        )
        return f"{_count(self.findings, 'finding')} ({words})."


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
