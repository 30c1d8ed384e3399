"""The public functions: one source in, findings or new text out. They read and write no files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reducer_migrate.config import DIALECTS
from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.engine import (
    Analysis,
    Options,
    UnparsableError,
    analyse,
    names_reducer,
    rewrite,
)
from reducer_migrate.selection import Selection
from reducer_migrate.source import Source, UndecodableError
from reducer_migrate.triage import triage
from reducer_rules import Release, Target
from reducer_rules.notices import UNDECODABLE, UNPARSABLE, Notice
from reducer_rules.timeline import Dialect

_START = Position(1, 1)


@dataclass(frozen=True, slots=True)
class Result:
    """What `migrate` did.

    `text` is the new source, equal to the old one where nothing was rewritten. `fixed` holds
    the findings that the rewrite resolved, `remaining` the others.
    """

    text: str
    changed: bool
    fixed: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]


def lint(
    source: str | bytes,
    *,
    path: str = "<string>",
    tilelang: str | None = None,
    dialect: str | None = None,
    compat: bool = False,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
) -> list[Diagnostic]:
    """Find everything the rules say about Python source, in order of position.

    Args:
        source: text, or bytes in the encoding they declare.
        path: the name that the findings carry. No file is read, and no configuration.
        tilelang: the release to judge against, for example `"0.1.13"`; None for any.
        dialect: `"shipped"` or `"rfc"` to report the other v2 spelling; None accepts both.
        compat: judge as if the source imported `reducer_compat`.
        select: codes, prefixes or names to report; None for all.
        ignore: codes, prefixes or names not to report.

    `# reducer: noqa` comments count. Source that does not parse or decode gives one finding
    (RM001, RM002) instead of an exception.

    Raises:
        ValueError: `tilelang`, `dialect`, `select` or `ignore` names something unknown.
    """
    options = _options(tilelang, dialect, compat)
    checked = _check(source, path, options, Selection.of(select, ignore))
    return list(checked.analysis.diagnostics)


def migrate(
    source: str | bytes,
    *,
    path: str = "<string>",
    tilelang: str | None = None,
    dialect: str | None = None,
    compat: bool = False,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    unsafe_fixes: bool = False,
    add_import: bool = False,
) -> Result:
    """Rewrite the v1 reducers of Python source to v2; arguments as for `lint`.

    Args:
        unsafe_fixes: also apply rewrites that may change results.
        add_import: add `import reducer_compat` where something is rewritten.

    Every reducer is rewritten whole or left alone. Nothing is written to disk. The release does
    not hold a rewrite back: v2 needs TileLang 0.1.14, or `reducer_compat`.

    Raises:
        ValueError: `tilelang`, `dialect`, `select` or `ignore` names something unknown.
    """
    options = _options(tilelang, dialect, compat, unsafe=unsafe_fixes, add_import=add_import)
    checked = _check(source, path, options, Selection.of(select, ignore))
    if checked.source is None:
        text = source if isinstance(source, str) else source.decode("latin-1")
        return Result(text, False, (), checked.analysis.diagnostics)
    done = rewrite(checked.source, checked.analysis, options)
    return Result(done.text, done.text != checked.source.text, done.fixed, done.remaining)


@dataclass(frozen=True, slots=True)
class _Checked:
    """A source that could be analysed, or None and the one finding that says why not."""

    source: Source | None
    analysis: Analysis


def _check(raw: str | bytes, path: str, options: Options, selection: Selection) -> _Checked:
    try:
        source = Source.of(raw, path) if isinstance(raw, str) else Source.read(path, raw)
    except UndecodableError as error:
        return _Checked(None, Analysis((_trouble(path, UNDECODABLE, str(error)),)))
    if not names_reducer(source.text.encode()):
        return _Checked(source, Analysis())
    try:
        analysis = analyse(source, options)
    except UnparsableError as error:
        start = Position(error.line, error.column)
        line = source.line(error.line) if error.line <= len(source.line_starts) else ""
        return _Checked(source, Analysis((_trouble(path, UNPARSABLE, str(error), start, line),)))
    any_release = options.target.release is None
    return _Checked(source, triage(source, analysis, selection, any_release=any_release).analysis)


def _options(
    tilelang: str | None,
    dialect: str | None,
    compat: bool,
    *,
    unsafe: bool = False,
    add_import: bool = False,
) -> Options:
    if dialect is not None and dialect not in DIALECTS:
        raise ValueError(f"unknown dialect {dialect!r}, expected one of {', '.join(DIALECTS)}")
    release = None if tilelang in (None, "any") else Release.parse(str(tilelang))
    target = Target(release, compat or add_import, None if dialect is None else Dialect(dialect))
    return Options(target=target, add_import=add_import, unsafe=unsafe)


def _trouble(
    path: str, notice: Notice, message: str, start: Position = _START, line: str = ""
) -> Diagnostic:
    return Diagnostic(
        path=path,
        code=notice.code,
        name=notice.name,
        severity=notice.severity,
        message=message,
        help=notice.help,
        start=start,
        end=start,
        source_line=line,
    )
