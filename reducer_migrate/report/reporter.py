"""Findings to where they go: text at once, every other format as one document at the end."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from reducer_migrate.report.output import Output

if TYPE_CHECKING:
    from reducer_migrate.diagnostic import Diagnostic
    from reducer_migrate.pipeline import Outcome
    from reducer_migrate.report.model import Offer


class Reporter:
    """Writes what outcomes say to `output` in one format, or counts by code."""

    def __init__(self, output: Output, format: str, statistics: bool) -> None:
        self._output = output
        self._format = format
        self._statistics = statistics
        self._found: list[Diagnostic] = []
        self._offers: dict[str, dict[int, Offer]] = {}

    @property
    def streams(self) -> bool:
        """Whether findings are written as they come."""
        return self._format == "text" and not self._statistics

    def add(self, outcome: Outcome) -> None:
        """Take the findings of one file."""
        said = (*outcome.notes, *outcome.diagnostics)
        if not said:
            return
        if not self.streams:
            self._found += said
            self._offers[outcome.path] = dict(outcome.offers)
            return
        from reducer_migrate.report.render import ansi, plain, render

        style = ansi if self._output.colour else plain
        for diagnostic in said:
            self._output.text(render(diagnostic, style))

    def close(self) -> None:
        """Write what was held back."""
        if not self.streams:
            text = io.StringIO()
            if self._statistics:
                from reducer_migrate.report import statistics

                statistics.render(self._found, text, as_json=self._format == "json")
            else:
                from reducer_migrate.report import formats

                formats.render(self._format, self._found, self._offers, text)
            self._output.text(text.getvalue())
        self._output.flush()
