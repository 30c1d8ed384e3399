"""What several formats need: fixes as line and column ranges, fingerprints, relative paths."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reducer_migrate.diagnostic import Diagnostic, Edit, Group, Position
from reducer_migrate.source import Source


class Replacement(NamedTuple):
    """Replace the half-open range of characters from `start` to `end` by `text`."""

    start: Position
    end: Position
    text: str


class Offer(NamedTuple):
    """The rewrite of one reducer as a report carries it: every replacement, or none."""

    group: Group
    replacements: tuple[Replacement, ...]


#: The offers of each file, by its path as in the diagnostics, and by the group's ident.
Fixes = Mapping[str, Mapping[int, Offer]]


def offer_of(diagnostic: Diagnostic, fixes: Fixes) -> Offer | None:
    """The rewrite that resolves `diagnostic`, where one is offered."""
    if diagnostic.group is None:
        return None
    return fixes.get(diagnostic.path, {}).get(diagnostic.group)


def offer(source: Source, group: Group, edits: Iterable[Edit]) -> Offer:
    """The edits of one group as positions, in order."""
    return Offer(
        group,
        tuple(
            Replacement(position(source, edit.start), position(source, edit.end), edit.text)
            for edit in sorted(edits)
        ),
    )


def position(source: Source, offset: int) -> Position:
    """The line and column, both from 1, of a character offset."""
    line = bisect_right(source.line_starts, offset)
    return Position(line, offset - source.line_starts[line - 1] + 1)


def shown_path(path: str) -> str:
    """`path` relative to the working directory where it lies below it, with forward slashes."""
    relative = os.path.relpath(path)
    inside = relative != os.pardir and not relative.startswith(os.pardir + os.sep)
    return (relative if inside else path).replace(os.sep, "/")


def fingerprints(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    """For each diagnostic 64 hexadecimal digits, unique in the report and free of line numbers.

    They depend on the path, code, reducer, the text of the line, and how many equal
    findings come before.
    """
    import hashlib

    seen: Counter[tuple[str, ...]] = Counter()
    for diagnostic in diagnostics:
        line = " ".join(diagnostic.source_line.split())
        key = (shown_path(diagnostic.path), diagnostic.code, diagnostic.reducer, line)
        text = "\0".join((*key, str(seen[key])))
        # A file name that is no UTF-8 arrives with surrogates in it.
        yield hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        seen[key] += 1
