"""From one source to its diagnostics, and to the edits that would resolve them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from reducer_migrate.diagnostic import Diagnostic, Edit, Group, Position
from reducer_migrate.documentation import find
from reducer_migrate.names import names_reducer
from reducer_migrate.parsing import parse
from reducer_migrate.source import Source
from reducer_rules import Finding, Fix, Rule, Severity, Target
from reducer_rules.notices import OLDER_RELEASE, UNFOLLOWED
from reducer_rules.release import NATIVE_V2
from reducer_rules.timeline import Dialect, Span

if TYPE_CHECKING:
    from reducer_migrate.frontend import Reducer, Unfollowed, Unit
    from reducer_migrate.frontend.macros import Passage
    from reducer_migrate.rewrite.actions import Plan, Refusal

#: The spellings of v2, converted into each other only where a dialect is asked for.
_SPELLING = frozenset({"RM109", "RM110"})


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge and rewrite.

    `add_import` writes `import reducer_compat` into files it rewrites; `unsafe` also makes
    rewrites that may change results; `lint` says that no rewrite was asked for, so that one
    which the release forbids is no failure; `siblings` that names may be looked up in other
    modules of the project, which are then read.
    """

    target: Target = field(default_factory=Target)
    add_import: bool = False
    unsafe: bool = False
    lint: bool = False
    siblings: bool = False


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
        names = {plan.imports for plan in plans if plan.imports is not None}
        made += tuple(edits.language_import(source, self.tree, name) for name in sorted(names))
        if made and add_import:
            return (*made, edits.compat_import(source, self.tree))
        return made


def analyse(source: Source, options: Options) -> Analysis:
    """Find everything the rules say about `source`. Writes nothing; loads no libcst.

    Raises:
        UnparsableError: the source does not parse.
    """
    if not names_reducer(source.text.encode(errors="replace")):
        return Analysis()
    from reducer_migrate.frontend import build

    tree = parse(source)
    known = options.siblings and not source.path.startswith("<")
    unit = build(source, tree, source.path if known else "")
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
        for finding in _checked(rule, reducer, target):
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


def _checked(rule: Rule, reducer: Reducer, target: Target) -> Iterator[Finding]:
    """What a rule finds; v1 statements of a macro by the name that the reducer has there."""
    found = tuple(rule.check(reducer.timeline, target))
    if not reducer.passed or not rule.code.startswith("RM1"):
        yield from found
        return
    for place, finding in enumerate(found):
        name = _known_as(reducer, reducer.sites[finding.event].passage)
        if name != reducer.timeline.name:
            renamed = replace(reducer.timeline, name=name)
            finding = tuple(rule.check(renamed, target))[place]
        yield finding


def _known_as(reducer: Reducer, passage: Passage | None) -> str:
    names = (each.name for each in reducer.passed if each.passage is passage)
    return next(names, reducer.timeline.name)


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
    from reducer_migrate.rewrite.macros import settle

    diagnostics: list[Diagnostic] = []
    plans: list[Plan] = []
    groups: list[Group] = []
    planned = list(_planned(judged, unit.tree, target, options))
    planned = settle([entry.reducer for entry in judged], planned, unit.tree)
    for entry, plan in zip(judged, planned, strict=True):
        group: int | None = None
        findings = entry.findings
        if isinstance(plan, Refusal):
            findings = (_refusal(plan),)
        elif plan is not None:
            joined = [place for place, other in enumerate(plans) if other is plan]
            group = joined[0] if joined else len(plans)
            if joined:
                groups[group] = replace(groups[group], reducers=groups[group].reducers + 1)
            else:
                plans.append(plan)
                groups.append(Group(group, plan.reducer, plan.fix))
        diagnostics += [_diagnostic(source, entry.reducer, f, group) for f in findings]
    diagnostics += [_unfollowed(source, each) for each in unit.unfollowed]
    unsupported = [entry for entry in judged if entry.wanted and not target.native_v2]
    if unsupported:
        diagnostics.append(_older_release(source, unsupported[0], target, options))
    diagnostics = list(_once_in_macros(diagnostics))
    ordered = sorted(diagnostics, key=lambda d: (d.start, d.code, d.end, d.message))
    return Analysis(tuple(ordered), tuple(groups), unit.tree, tuple(plans))


def _once_in_macros(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """A statement of a macro is in v1 once, however many reducers are passed to it."""
    seen: set[tuple[str, Position, Position]] = set()
    for diagnostic in diagnostics:
        key = (diagnostic.code, diagnostic.start, diagnostic.end)
        if not diagnostic.code.startswith("RM1") or key not in seen:
            seen.add(key)
            yield diagnostic


def _planned(
    judged: list[_Judged], tree: ast.Module, target: Target, options: Options
) -> Iterator[Plan | Refusal | None]:
    """How each reducer is rewritten; None where nobody asks, or where the release has no v2."""
    from reducer_migrate.frontend.syntax import names_bound_or_used
    from reducer_migrate.rewrite.language import Language
    from reducer_migrate.rewrite.plan import make_plan

    dialect = target.dialect or Dialect.SHIPPED
    older = target.release is not None and target.release < NATIVE_V2
    language = Language(tree, starred=not (older or options.add_import))
    taken: dict[ast.AST, set[str]] = {}
    for entry in judged:
        if not entry.wanted or not target.native_v2:
            yield None
            continue
        node = entry.reducer.scope.node
        if node not in taken:
            taken[node] = names_bound_or_used(node)
        yield make_plan(entry.reducer, dialect, taken[node], language, unsafe=entry.unsafe)


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


def _unfollowed(source: Source, place: Unfollowed) -> Diagnostic:
    node = place.node
    line = node.lineno
    return Diagnostic(
        path=source.path,
        code=UNFOLLOWED.code,
        name=UNFOLLOWED.name,
        severity=UNFOLLOWED.severity,
        message=place.message,
        help=place.help,
        start=_position(source, line, node.col_offset),
        end=_position(source, node.end_lineno or line, node.end_col_offset or node.col_offset),
        source_line=source.line(line),
        label="not followed",
        statement=_statement_lines(place.statement),
    )


def _diagnostic(
    source: Source, reducer: Reducer, finding: Finding, group: int | None
) -> Diagnostic:
    span = finding.span
    start, end = _position(source, span.line, span.column), _end(source, span)
    legacy = finding.code.startswith("RM1") and group is not None
    passage = reducer.sites[finding.event].passage
    where = "" if passage is None else f" ({_in_macro(reducer, passage)})"
    return Diagnostic(
        path=source.path,
        code=finding.code,
        name=find(finding.code).name,
        severity=finding.severity,
        message=f"{finding.message}{where}",
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


def _in_macro(reducer: Reducer, passage: Passage) -> str:
    """Where the call leads to that passes the reducer on, and what it goes by there."""
    name, macro = reducer.timeline.name, passage.macro
    known = _known_as(reducer, passage)
    renamed = "" if known == name else f", as `{known}`"
    line = list(passage.chain)[-1].call.lineno
    return f"`{name}` is passed to macro `{macro.node.name}` in line {line}{renamed}"


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
