"""`# reducer: noqa[RM203]` comments: what they say, what they cover, and which cover nothing."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.documentation import UnknownCodeError, resolve_selector
from reducer_migrate.source import Source
from reducer_rules.notices import FILE_ERRORS, UNKNOWN_SUPPRESSION, UNUSED_SUPPRESSION, Notice

#: Tokenizing costs more than this search, and almost no file has a suppression.
_MARKER = re.compile(r"reducer\s*:\s*noqa", re.IGNORECASE)
_DIRECTIVE = re.compile(
    r"""\#\s*reducer\s*:\s*noqa(?P<file>-file)?(?![\w-])
    (?:\s*\[(?P<codes>[^\]\#]*)\]?              # noqa[RM203, RM1], also unclosed
    |\s*:\s*(?P<listed>RM\w+(?:[,\s]+RM\w+)*))?  # noqa: RM203, as flake8 users write it
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LINE_END = re.compile("\r\n|\r")


class Code(NamedTuple):
    """One code as written in a comment, and the prefix it stands for; None where unknown."""

    text: str
    prefix: str | None
    start: Position
    end: Position
    problem: str = ""


class Suppression(NamedTuple):
    """One comment. No `codes` means every code; `whole_file` covers every line."""

    start: Position
    end: Position
    codes: tuple[Code, ...] | None
    whole_file: bool

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether the comment lies on a line of the diagnostic's statement, or is for the file."""
        first, last = diagnostic.statement
        first = min(first or diagnostic.start.line, diagnostic.start.line)
        last = max(last, diagnostic.start.line)
        return self.whole_file or first <= self.start.line <= last

    def suppresses(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.code in FILE_ERRORS or not self.covers(diagnostic):
            return False
        if self.codes is None:
            return True
        return any(_fits(code, diagnostic) for code in self.codes)


class Suppressed(NamedTuple):
    """What remains, what was suppressed (each finding once), and what the comments got wrong."""

    remaining: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...]
    problems: tuple[Diagnostic, ...]


def suppressions(source: Source) -> tuple[Suppression, ...]:
    """The suppression comments of `source`, in order. Strings are never taken for comments."""
    if _MARKER.search(source.text) is None:
        return ()
    return tuple(
        _suppression(match, line, column)
        for text, line, column in _comments(source.text)
        for match in _DIRECTIVE.finditer(text)
    )


def suppress(
    source: Source, diagnostics: Sequence[Diagnostic], *, any_release: bool = True
) -> Suppressed:
    """Apply the suppression comments of `source` to everything that was found in it.

    Give every diagnostic, whatever is selected: a comment is unused only if no rule reports
    anything there. Unless `any_release`, codes of the RM3xx family are never called unused,
    because the same comment is needed when judging against another release.
    """
    found = suppressions(source)
    if not found:
        return Suppressed(tuple(diagnostics), (), ())
    covered = [any(s.suppresses(d) for s in found) for d in diagnostics]
    return Suppressed(
        tuple(d for d, hit in zip(diagnostics, covered, strict=True) if not hit),
        tuple(d for d, hit in zip(diagnostics, covered, strict=True) if hit),
        tuple(
            problem
            for suppression in found
            for problem in _problems(source, suppression, diagnostics, any_release)
        ),
    )


def _comments(text: str) -> Iterator[tuple[str, int, int]]:
    """Each comment with its line, from 1, and column, from 0."""
    reader = io.StringIO(_LINE_END.sub("\n", text)).readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT:
                yield (token.string, *token.start)
    except (tokenize.TokenError, SyntaxError):
        # A file that does not parse has its own finding; what was read until here still counts.
        return


def _suppression(match: re.Match[str], line: int, column: int) -> Suppression:
    group = next((name for name in ("codes", "listed") if match[name] is not None), None)
    codes = None if group is None else tuple(_codes(match, group, line, column))
    return Suppression(
        Position(line, column + match.start() + 1),
        Position(line, column + match.end() + 1),
        codes,
        match["file"] is not None,
    )


def _codes(match: re.Match[str], group: str, line: int, column: int) -> Iterator[Code]:
    for part in re.finditer(r"[^\s,]+", match[group]):
        start = column + match.start(group) + part.start() + 1
        span = Position(line, start), Position(line, start + len(part[0]))
        try:
            yield Code(part[0], resolve_selector(part[0]), *span)
        except UnknownCodeError as error:
            yield Code(part[0], None, *span, str(error))


def _fits(code: Code, diagnostic: Diagnostic) -> bool:
    return code.prefix is not None and diagnostic.code.startswith(code.prefix)


def _problems(
    source: Source,
    suppression: Suppression,
    diagnostics: Sequence[Diagnostic],
    any_release: bool,
) -> Iterator[Diagnostic]:
    """RM902 for each unknown code, RM901 where the comment or some of its codes do nothing."""
    codes = suppression.codes or ()
    for code in codes:
        if code.prefix is None:
            yield _diagnostic(source, UNKNOWN_SUPPRESSION, code.problem, code.start, code.end)
    unused = [
        code
        for code in codes
        if code.prefix is not None
        and (any_release or not code.prefix.startswith("RM3"))
        and not any(suppression.covers(d) and _fits(code, d) for d in diagnostics)
    ]
    where = "in this file" if suppression.whole_file else "on this statement"
    if unused:
        names = ", ".join(code.text for code in unused)
        message = f"unused suppression: nothing {where} is reported as {names}"
        yield _diagnostic(source, UNUSED_SUPPRESSION, message, unused[0].start, unused[-1].end)
    elif not codes and not any(suppression.suppresses(d) for d in diagnostics):
        message = f"unused suppression: nothing {where} is reported"
        yield _diagnostic(source, UNUSED_SUPPRESSION, message, suppression.start, suppression.end)


def _diagnostic(
    source: Source, notice: Notice, message: str, start: Position, end: Position
) -> Diagnostic:
    return Diagnostic(
        path=source.path,
        code=notice.code,
        name=notice.name,
        severity=notice.severity,
        message=message,
        help=notice.help,
        start=start,
        end=end,
        source_line=source.line(start.line),
        statement=(start.line, start.line),
    )
