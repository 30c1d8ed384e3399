"""What several formats need: fixes as line and column ranges, fingerprints, relative paths."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reducer_migrate.diagnostic import Diagnostic, Group, Position
from reducer_migrate.source import Source


@dataclass(frozen=True, slots=True)
class Fixes:
    """One file's text and the groups of edits that are offered for it."""

    source: Source
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replace the half-open range of characters from `start` to `end` by `text`."""

    start: Position
    end: Position
    text: str


def group_of(diagnostic: Diagnostic, fixes: Mapping[str, Fixes]) -> Group | None:
    """The group that resolves `diagnostic`, where one is offered."""
    offered = fixes.get(diagnostic.path)
    if offered is None or diagnostic.group is None:
        return None
    return next((group for group in offered.groups if group.ident == diagnostic.group), None)


def replacements(source: Source, group: Group) -> tuple[Replacement, ...]:
    """The edits of one group as positions, in order."""
    return tuple(
        Replacement(position(source, edit.start), position(source, edit.end), edit.text)
        for edit in sorted(group.edits)
    )


def position(source: Source, offset: int) -> Position:
    """The line and column, both from 1, of a character offset."""
    line = bisect_right(source.line_starts, offset)
    return Position(line, offset - source.line_starts[line - 1] + 1)


def shown_path(path: str) -> str:
    """`path` relative to the working directory where it lies below it, with forward slashes."""
    relative = os.path.relpath(path)
    inside = relative != os.pardir and not relative.startswith(os.pardir + os.sep)
    return Path(relative if inside else path).as_posix()


def fingerprints(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    """For each diagnostic 64 hexadecimal digits, unique in the report and free of line numbers.

    They depend on the path, code, reducer, the text of the line, and how many equal
    findings come before.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for diagnostic in diagnostics:
        line = " ".join(diagnostic.source_line.split())
        key = (shown_path(diagnostic.path), diagnostic.code, diagnostic.reducer, line)
        text = "\0".join((*key, str(seen[key])))
        # A file name that is no UTF-8 arrives with surrogates in it.
        yield hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        seen[key] += 1
