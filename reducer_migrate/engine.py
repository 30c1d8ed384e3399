"""From one source to its diagnostics and edits, and from edits to new text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from reducer_migrate.diagnostic import Diagnostic, Edit, Group, Position, apply_edits
from reducer_migrate.documentation import find
from reducer_migrate.names import names_reducer
from reducer_migrate.source import Source
from reducer_rules import Finding, Fix, Severity, Target
from reducer_rules.notices import OLDER_RELEASE, REWRITE_ABANDONED
from reducer_rules.timeline import Dialect, Span

if TYPE_CHECKING:
    from reducer_migrate.frontend import Reducer, Unit
    from reducer_migrate.rewrite.actions import Plan, Refusal

#: The spellings of v2, converted into each other only where a dialect is asked for.
_SPELLING = frozenset({"RM109", "RM110"})


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge and rewrite.

    `add_import` writes `import reducer_compat` into files it rewrites; `unsafe` also makes
    rewrites that may change results; `lint` says that no rewrite was asked for, so that one
    which the release forbids is no failure.
    """

    target: Target = field(default_factory=Target)
    add_import: bool = False
    unsafe: bool = False
    lint: bool = False


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in one file, in order of position, and the rewrites that would resolve it.

    `groups` holds only rewrites that the options allow.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    groups: tuple[Group, ...] = ()
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []), repr=False)
    plans: tuple[Plan, ...] = field(default=(), repr=False)

    def edits(
        self, source: Source, idents: Collection[int], *, add_import: bool = False
    ) -> tuple[Edit, ...]:
        """The edits that carry out the groups with these idents together. Loads libcst.

        Raises:
            CannotEditError: the edit could not be made.
        """
        from reducer_migrate.rewrite import edits

        plans = [self.plans[ident] for ident in sorted(idents)]
        made = edits.edits(source, self.tree, plans)
        if made and add_import:
            return (*made, edits.compat_import(source, self.tree))
        return made


class Rewrite(NamedTuple):
    """The text after rewriting, what remains to be said of it, and what was rewritten.

    `text` equals the source's text where nothing changed, and `analysis` is its analysis.
    `remaining` has positions in `text`;
    `fixed` and `notes` have positions in the original: `fixed` is what the rewrite resolved, and
    `notes` what a reader should know of how. `abandoned` names the groups that failed a check.
    """

    text: str
    analysis: Analysis
    remaining: tuple[Diagnostic, ...] = ()
    fixed: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    reducers: int = 0
    abandoned: frozenset[int] = frozenset()


class UnparsableError(ValueError):
    """The file names a reducer operation and does not parse; line and column count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def analyse(source: Source, options: Options) -> Analysis:
    """Find everything the rules say about `source`. Writes nothing; loads no libcst.

    Raises:
        UnparsableError: the source does not parse.
    """
    if not names_reducer(source.text.encode(errors="replace")):
        return Analysis()
    from reducer_migrate.frontend import build

    tree = _parse(source)
    unit = build(source, tree)
    compat = options.target.compat or unit.imports_compat or options.add_import
    target = replace(options.target, compat=compat)
    found = [_judge(reducer, target, options) for reducer in unit.reducers]
    return _collect(source, unit, found, target, options)


class _Judged(NamedTuple):
    """A reducer with its findings, and whether these ask for a rewrite and allow it."""

    reducer: Reducer
    findings: tuple[Finding, ...]
    wanted: bool
    unsafe: bool


def _judge(reducer: Reducer, target: Target, options: Options) -> _Judged:
    from reducer_rules.catalogue import rules

    findings: list[Finding] = []
    unsafe = False
    for rule in rules():
        for finding in rule.check(reducer.timeline, target):
            if finding.blocks and rule.fix is Fix.UNSAFE and options.unsafe:
                unsafe = True
                finding = replace(finding, blocks=False)
            findings.append(finding)
    blocked = any(finding.blocks for finding in findings)
    legacy = [finding for finding in findings if finding.code.startswith("RM1")]
    if blocked and legacy:
        findings = list(_once_each(finding for finding in findings if finding not in legacy))
    asked = [
        finding
        for finding in legacy
        if finding.severity is not Severity.NOTE or not target.native_v2
        if finding.code not in _SPELLING or target.dialect is not None
    ]
    return _Judged(reducer, tuple(findings), bool(asked) and not blocked, unsafe)


def _once_each(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first finding of each code: a reducer that stays as it is says each reason once."""
    seen: set[str] = set()
    for finding in findings:
        if finding.code not in seen:
            seen.add(finding.code)
            yield finding


def _collect(
    source: Source, unit: Unit, judged: list[_Judged], target: Target, options: Options
) -> Analysis:
    from reducer_migrate.rewrite.actions import Refusal
    from reducer_migrate.rewrite.plan import make_plan

    diagnostics: list[Diagnostic] = []
    plans: list[Plan] = []
    groups: list[Group] = []
    refused_release = None
    taken: dict[ast.AST, set[str]] = {}
    dialect = target.dialect or Dialect.SHIPPED
    for entry in judged:
        group: int | None = None
        findings = entry.findings
        if entry.wanted and not target.native_v2:
            refused_release = refused_release or entry
        elif entry.wanted:
            node = entry.reducer.scope.node
            if node not in taken:
                taken[node] = _names(node)
            plan = make_plan(entry.reducer, dialect, taken[node], unsafe=entry.unsafe)
            if isinstance(plan, Refusal):
                findings = (_refusal(plan),)
            else:
                group = len(plans)
                plans.append(plan)
                groups.append(Group(group, plan.reducer, plan.fix))
        diagnostics += [_diagnostic(source, entry.reducer, f, group) for f in findings]
    if refused_release is not None:
        diagnostics.append(_older_release(source, refused_release, target, options))
    ordered = sorted(diagnostics, key=lambda d: (d.start, d.code, d.end, d.message))
    return Analysis(tuple(ordered), tuple(groups), unit.tree, tuple(plans))


def _names(tree: ast.AST) -> set[str]:
    """Every name used in a function and what is nested in it: a fresh one collides with none."""
    from reducer_migrate.frontend.syntax import all_below, binds, bound_names

    names: set[str] = set()
    for node in all_below(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.pattern):
            names.update(bound_names(node))
        else:
            names.update(binds(node))
    return names


def _refusal(refusal: Refusal) -> Finding:
    return Finding(
        refusal.code,
        Severity.ERROR,
        refusal.event.span,
        refusal.message,
        refusal.help,
        refusal.event.ident,
        blocks=True,
    )


def _older_release(source: Source, entry: _Judged, target: Target, options: Options) -> Diagnostic:
    alloc = entry.reducer.timeline.events[0]
    finding = Finding(
        OLDER_RELEASE.code,
        Severity.NOTE if options.lint else Severity.ERROR,
        alloc.span,
        f"not rewritten: TileLang {target.release} has no v2 reducers, and the file does not "
        "import reducer_compat",
        "use `--with-compat` to rewrite and add the import, or move to TileLang 0.1.14 or newer "
        "and pass `--tilelang 0.1.14`",
        alloc.ident,
    )
    return _diagnostic(source, entry.reducer, finding, None)


def _diagnostic(
    source: Source, reducer: Reducer, finding: Finding, group: int | None
) -> Diagnostic:
    span = finding.span
    start, end = _position(source, span.line, span.column), _end(source, span)
    legacy = finding.code.startswith("RM1") and group is not None
    return Diagnostic(
        path=source.path,
        code=finding.code,
        name=find(finding.code).name,
        severity=finding.severity,
        message=finding.message,
        help=finding.help,
        start=start,
        end=end,
        source_line=source.line(span.line),
        label=finding.label,
        reducer=reducer.timeline.name,
        statement=_statement_lines(reducer.sites[finding.event].statement),
        fix=Fix.SAFE if legacy else Fix.NONE,
        group=group if legacy else None,
    )


def _statement_lines(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of a compound one, those of its header."""
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(body, list) and body:
        last = max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, last


def _position(source: Source, line: int, column: int) -> Position:
    return Position(line, source.offset(line, column) - source.line_starts[line - 1] + 1)


def _end(source: Source, span: Span) -> Position:
    return _position(source, span.end_line or span.line, span.end_column or span.column)


def _parse(source: Source) -> ast.Module:
    """Parse the source; a fragment that is indented as a whole parses too."""
    try:
        return _syntax_tree(source.text)
    except SyntaxError as error:
        if isinstance(error, IndentationError):
            try:
                return _indented_fragment(source.text)
            except SyntaxError:
                pass
        message, line, column = error.msg, error.lineno or 1, error.offset or 1
        raise UnparsableError(message, line, max(1, column)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnparsableError(str(error) or type(error).__name__, 1, 1) from error


def _syntax_tree(text: str) -> ast.Module:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _indented_fragment(text: str) -> ast.Module:
    wrapped = _syntax_tree("if True:\n" + text)
    ast.increment_lineno(wrapped, -1)
    conditional = wrapped.body[0]
    if len(wrapped.body) != 1 or not isinstance(conditional, ast.If):
        raise IndentationError("unindent does not match any outer indentation level")
    return ast.Module(conditional.body, [])


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
    for ident, reason in abandoned.items():
        first = next(d for d in analysis.diagnostics if d.group == ident)
        remaining.append(_abandoned(first, reason))
    reducers = {(d.reducer, d.group) for d in fixed}
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
        len(reducers),
        frozenset(abandoned),
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
