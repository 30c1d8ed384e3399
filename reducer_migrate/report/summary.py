"""The last words of a run, on stderr: what was looked at, what was done, what remains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reducer_migrate.settings import Mode

if TYPE_CHECKING:
    from reducer_migrate.pipeline import Outcome


class Tally:
    """Counts what happened in a run; holds no findings, so it stays small."""

    def __init__(self) -> None:
        self.files = 0
        self.failed = 0
        self.edited = 0
        self.reducers = 0
        self.severities = {"error": 0, "warning": 0, "note": 0}
        self.fixable = 0
        self.sources: dict[str, None] = {}
        self.problems: list[str] = []

    def add(self, outcome: Outcome) -> None:
        """Count one judged file."""
        self.failed += outcome.failed
        self.edited += outcome.edited
        self.reducers += outcome.rewritten
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
        if self.sources:
            lines.append("Judged against " + ", ".join(self.sources) + ".")
        return lines

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


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
