"""From our positions, findings and edits to those of the Language Server Protocol.

Our columns count characters from 1. The protocol counts the units of an encoding that client and
server agree on, from 0: UTF-16 code units unless the client offers another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from lsprotocol import types

from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.report.model import Offer
from reducer_migrate.source import Source
from reducer_rules import Severity

SOURCE = "reducer-migrate"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Converter:
    """Converts for one text; `encoding` is the one agreed on."""

    source: Source
    encoding: types.PositionEncodingKind | str | None = None

    def position(self, place: Position) -> types.Position:
        line = min(max(place.line, 1), len(self.source.line_starts))
        before = self.source.line(line)[: max(place.column, 1) - 1]
        return types.Position(line - 1, self._units(before))

    def range(self, start: Position, end: Position) -> types.Range:
        return types.Range(self.position(start), self.position(max(start, end)))

    def offset(self, place: types.Position) -> int:
        """The character of the text that a position of the client names."""
        starts = self.source.line_starts
        if place.line >= len(starts):
            return len(self.source.text)
        line = self.source.line(place.line + 1)
        columns = range(len(line) + 1)
        return starts[place.line] + bisect_left(
            columns, place.character, key=lambda column: self._units(line[:column])
        )

    def diagnostic(self, found: Diagnostic) -> types.Diagnostic:
        return types.Diagnostic(
            range=self.range(found.file_start, found.file_end),
            message=f"{found.message}\n{found.help}" if found.help else found.message,
            severity=_SEVERITIES[found.severity],
            code=found.code,
            source=SOURCE,
        )

    def edits(self, offers: Iterable[Offer]) -> list[types.TextEdit]:
        return [
            types.TextEdit(self.range(part.start, part.end), part.text)
            for offer in offers
            for part in offer.replacements
        ]

    def _units(self, text: str) -> int:
        if self.encoding == types.PositionEncodingKind.Utf32:
            return len(text)
        if self.encoding == types.PositionEncodingKind.Utf8:
            return len(text.encode(errors="surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def overlap(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a place; an empty one shares where it stands."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(place: types.Position) -> tuple[int, int]:
    return place.line, place.character
