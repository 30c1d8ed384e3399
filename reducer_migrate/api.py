"""The public functions: one source in, findings or new text out. They read and write no files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reducer_migrate import fault
from reducer_migrate.config import DIALECTS
from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.engine import Options
from reducer_migrate.judge import Policy, carry_out, judge
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.selection import Selection
from reducer_migrate.source import Source, UndecodableError
from reducer_rules import Release, Target
from reducer_rules.timeline import Dialect


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
    policy = Policy(_options(tilelang, dialect, compat, lint=True), Selection.of(select, ignore))
    read = _read(source, path)
    if isinstance(read, Diagnostic):
        return [read]
    try:
        return list(judge(read, policy).reported)
    except UnparsableError as error:
        return [fault.unparsable(read, error)]


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

    Every reducer is rewritten whole or left alone. Nothing is written to disk. Against a release
    older than 0.1.14 nothing is rewritten (RM005) unless `compat` or `add_import` is set, or the
    source imports `reducer_compat`.

    Raises:
        ValueError: `tilelang`, `dialect`, `select` or `ignore` names something unknown.
    """
    options = _options(tilelang, dialect, compat, unsafe=unsafe_fixes, add_import=add_import)
    policy = Policy(options, Selection.of(select, ignore))
    read = _read(source, path)
    if isinstance(read, Diagnostic):
        return Result(_text(source), False, (), (read,))
    try:
        done = carry_out(judge(read, policy), policy)
    except UnparsableError as error:
        return Result(read.text, False, (), (fault.unparsable(read, error),))
    return Result(done.text, done.text != read.text, done.fixed, done.after.reported)


def _read(source: str | bytes, path: str) -> Source | Diagnostic:
    """The source, or the finding that says why it is none."""
    try:
        return Source.of(source, path) if isinstance(source, str) else Source.read(path, source)
    except (UndecodableError, UnicodeEncodeError) as error:
        return fault.undecodable(path, error)


def _options(
    tilelang: str | None,
    dialect: str | None,
    compat: bool,
    *,
    lint: bool = False,
    unsafe: bool = False,
    add_import: bool = False,
) -> Options:
    if dialect is not None and dialect not in DIALECTS:
        raise ValueError(f"unknown dialect {dialect!r}, expected one of {', '.join(DIALECTS)}")
    release = None if tilelang in (None, "any") else Release.parse(str(tilelang))
    target = Target(release, compat or add_import, None if dialect is None else Dialect(dialect))
    return Options(target, add_import=add_import, unsafe=unsafe, lint=lint)


def _text(source: str | bytes) -> str:
    """The text of a source that may not decode: byte for byte, then."""
    return source if isinstance(source, str) else source.decode(errors="surrogateescape")
