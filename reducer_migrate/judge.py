"""One source under one policy: found, triaged, rewritten, and triaged again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reducer_migrate.diagnostic import Diagnostic, Group
from reducer_migrate.engine import Analysis, Options, analyse
from reducer_migrate.report.model import Offer, offer
from reducer_migrate.rewriting import adds_import, rewrite
from reducer_migrate.selection import Selection
from reducer_migrate.source import Source
from reducer_migrate.triage import Triage, triage, unfixable

if TYPE_CHECKING:
    from reducer_migrate.baseline import Baseline


@dataclass(frozen=True, slots=True)
class Policy:
    """How one file is judged: the engine's options, and which findings are reported."""

    options: Options = Options()  # noqa: RUF009 -- Options is frozen
    selection: Selection = Selection()  # noqa: RUF009 -- Selection is frozen
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found in `source`, and what is reported of it and may be rewritten."""

    source: Source
    found: Analysis
    triage: Triage

    @property
    def reported(self) -> tuple[Diagnostic, ...]:
        return self.triage.analysis.diagnostics

    @property
    def pending(self) -> tuple[Group, ...]:
        """The rewrites that may be applied."""
        return self.triage.analysis.groups


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewrite: `before` has positions in the original text, `after` in the new one.

    `fixed` and `notes` (what a reader should know of how) have positions in the original.
    `abandoned` names the groups that failed a check; one RM006 stands for all their findings, and
    `failures` holds these.
    """

    text: str
    before: Judgement
    after: Judgement
    fixed: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    reducers: int = 0
    abandoned: frozenset[int] = frozenset()
    failures: tuple[Diagnostic, ...] = ()


def judge(source: Source, policy: Policy) -> Judgement:
    """Find, and triage, what there is to say about `source`.

    Raises:
        UnparsableError: the source does not parse.
    """
    found = analyse(source, policy.options)
    return Judgement(source, found, _triage(source, found, policy))


def carry_out(judgement: Judgement, policy: Policy) -> Rewritten:
    """Apply the pending rewrites of a judgement made under the same policy."""
    source, found = judgement.source, judgement.found
    selected = {group.ident for group in judgement.pending}
    done = rewrite(source, found, policy.options, selected)
    left = tuple(
        d for d in judgement.reported if d not in done.fixed and d.group not in done.abandoned
    )
    before = _without_rewrites(judgement, left, done.failures)
    if done.text == source.text:
        return Rewritten(
            source.text, before, before, abandoned=done.abandoned, failures=done.failures
        )
    changed = Source.read(source.path, source.encode(done.text))
    after = Judgement(changed, done.analysis, _triage(changed, done.analysis, policy))
    if done.failures:
        # What still has a rewrite is what was abandoned.
        others = tuple(d for d in after.reported if d.group is None)
        after = _without_rewrites(after, others, done.failures)
    notes = tuple(d for d in done.notes if d in judgement.reported)
    return Rewritten(
        done.text,
        before,
        after,
        done.fixed,
        notes,
        done.reducers,
        done.abandoned,
        done.failures,
    )


def _without_rewrites(
    judgement: Judgement, reported: tuple[Diagnostic, ...], abandoned: tuple[Diagnostic, ...]
) -> Judgement:
    """A judgement with nothing left to apply: it was applied, or was tried and abandoned."""
    diagnostics = (*map(unfixable, reported), *abandoned)
    ordered = tuple(sorted(diagnostics, key=lambda d: (d.start, d.code, d.end)))
    analysis = Analysis(ordered, ())
    return replace(judgement, triage=replace(judgement.triage, analysis=analysis))


def _triage(source: Source, found: Analysis, policy: Policy) -> Triage:
    any_release = policy.options.target.release is None
    return triage(source, found, policy.selection, policy.baseline, any_release=any_release)


def offers(judgement: Judgement, policy: Policy) -> dict[int, Offer]:
    """Each pending rewrite as a report carries it, where it passes the engine's checks."""
    made: dict[int, Offer] = {}
    for group in judgement.pending:
        done = rewrite(judgement.source, judgement.found, policy.options, {group.ident})
        if done.text != judgement.source.text:
            edits = judgement.found.edits(
                judgement.source,
                {group.ident},
                add_import=adds_import(judgement.source, judgement.found, policy.options),
            )
            made[group.ident] = offer(judgement.source, group, edits)
    return made
