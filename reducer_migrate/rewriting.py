"""From the edits of an analysis to new text that passed every check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from reducer_migrate.diagnostic import Diagnostic, apply_edits
from reducer_migrate.engine import Analysis, Options, analyse
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.source import Source
from reducer_rules import Fix, Severity
from reducer_rules.notices import OLDER_RELEASE, REWRITE_ABANDONED


class Rewrite(NamedTuple):
    """The text after rewriting, what remains to be said of it, and what was rewritten.

    `text` equals the source's text where nothing changed, and `analysis` is its analysis.
    `remaining` has positions in `text`;
    `fixed` and `notes` have positions in the original: `fixed` is what the rewrite resolved, and
    `notes` what a reader should know of how. `abandoned` names the groups that failed a check, and
    `failures` says of each which one; these are among what remains.
    """

    text: str
    analysis: Analysis
    remaining: tuple[Diagnostic, ...] = ()
    fixed: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    reducers: int = 0
    abandoned: frozenset[int] = frozenset()
    failures: tuple[Diagnostic, ...] = ()


def rewrite(
    source: Source,
    analysis: Analysis,
    options: Options,
    selected: Collection[int] | None = None,
) -> Rewrite:
    """Apply the groups of `analysis`, or those of them with the idents `selected`.

    The result was parsed again, holds the comments of the original, and analysing it finds
    nothing more to rewrite; where one of these fails for a reducer, its statements stay and a
    diagnostic (RM006) says so.
    """
    wanted = {group.ident for group in analysis.groups}
    if selected is not None:
        wanted &= set(selected)
    if not wanted:
        return Rewrite(source.text, analysis, analysis.diagnostics)
    attempt = _attempt(source, analysis, wanted, options)
    abandoned: dict[int, str] = {}
    if attempt.problem is not None:
        for ident in sorted(wanted):
            alone = _attempt(source, analysis, {ident}, options).problem
            if alone is not None:
                abandoned[ident] = alone
        wanted -= set(abandoned)
        attempt = _attempt(source, analysis, wanted, options)
        if attempt.problem is not None:
            abandoned.update(dict.fromkeys(wanted, attempt.problem))
            wanted = set()
    return _result(analysis, attempt, wanted, abandoned)


class _Attempt(NamedTuple):
    """The text with some groups applied and its analysis; or the original's, and the problem."""

    text: str
    analysis: Analysis
    problem: str | None = None


def _attempt(source: Source, analysis: Analysis, idents: set[int], options: Options) -> _Attempt:
    from reducer_migrate.rewrite.actions import CannotEditError

    try:
        edits = analysis.edits(source, idents, add_import=adds_import(source, analysis, options))
        text = apply_edits(source.text, edits)
        changed = Source.read(source.path, source.encode(text))
        again = analyse(changed, options)
    except (CannotEditError, UnparsableError, ValueError) as error:
        return _Attempt(source.text, analysis, str(error))
    problem = None
    if _comments(text) != _comments(source.text):
        problem = "a comment would be lost"
    elif len(again.groups) != len(analysis.groups) - len(idents):
        problem = "the result would have to be rewritten again"
    else:
        fresh = _errors(again) - _errors(analysis)
        if fresh:
            (code, reducer), _ = fresh.popitem()
            problem = f"the result would be wrong: {code} on `{reducer}`"
    return _Attempt(text, again) if problem is None else _Attempt(source.text, analysis, problem)


def adds_import(source: Source, analysis: Analysis, options: Options) -> bool:
    """Whether a rewrite also writes `import reducer_compat`."""
    from reducer_migrate.frontend import imports_compat

    return options.add_import and not imports_compat(source, analysis.tree)


def _errors(analysis: Analysis) -> Counter[tuple[str, str]]:
    return Counter(
        (diagnostic.code, diagnostic.reducer)
        for diagnostic in analysis.diagnostics
        if diagnostic.severity is Severity.ERROR and diagnostic.code != OLDER_RELEASE.code
    )


def _comments(text: str) -> Counter[str]:
    """The comments of a text; empty where it does not tokenize alone, as an indented fragment."""
    import io
    import tokenize

    comments: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT:
                comments[token.string.strip()] += 1
    except (tokenize.TokenError, SyntaxError):
        comments["(does not tokenize)"] += 1
    return comments


def _result(
    analysis: Analysis, attempt: _Attempt, applied: set[int], abandoned: dict[int, str]
) -> Rewrite:
    fixed = tuple(d for d in analysis.diagnostics if d.group in applied)
    remaining = [d for d in attempt.analysis.diagnostics if d.group is None or not abandoned]
    failures = tuple(
        _abandoned(next(d for d in analysis.diagnostics if d.group == ident), reason)
        for ident, reason in abandoned.items()
    )
    remaining += failures
    reducers = sum(group.reducers for group in analysis.groups if group.ident in applied)
    still = {(d.code, d.reducer) for d in attempt.analysis.diagnostics}
    notes = tuple(
        d
        for d in analysis.diagnostics
        if d.severity is not Severity.ERROR
        and (d in fixed or (d.code.startswith("RM2") and (d.code, d.reducer) not in still))
    )
    return Rewrite(
        attempt.text,
        attempt.analysis,
        tuple(remaining),
        fixed,
        notes,
        reducers,
        frozenset(abandoned),
        failures,
    )


def _abandoned(first: Diagnostic, reason: str) -> Diagnostic:
    return replace(
        first,
        code=REWRITE_ABANDONED.code,
        name=REWRITE_ABANDONED.name,
        severity=Severity.ERROR,
        message=f"reducer `{first.reducer}` is not rewritten: {reason}",
        help="rewrite it by hand; `reducer-migrate explain RM006` says what was checked",
        label="",
        fix=Fix.NONE,
        group=None,
    )
