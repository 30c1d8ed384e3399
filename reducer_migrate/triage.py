"""From everything that was found in a file to what is reported and what may be rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.engine import Analysis
from reducer_migrate.selection import Selection
from reducer_migrate.source import Source
from reducer_migrate.suppression import suppress
from reducer_rules import Fix

if TYPE_CHECKING:
    from reducer_migrate.baseline import Baseline


@dataclass(frozen=True, slots=True)
class Triage:
    """`analysis` holds the findings to report and the groups that may be applied.

    The other findings stay silent: suppressed by a comment, not selected, or in the baseline.
    """

    analysis: Analysis
    suppressed: tuple[Diagnostic, ...] = ()
    ignored: tuple[Diagnostic, ...] = ()
    baselined: tuple[Diagnostic, ...] = ()


def triage(
    source: Source,
    analysis: Analysis,
    selection: Selection,
    baseline: Baseline | None = None,
    *,
    any_release: bool = True,
) -> Triage:
    """Apply comments, then the selection, then the baseline; withhold the groups they touch.

    Comments come first, so that whether one is unused does not depend on what is selected.
    """
    commented = suppress(source, analysis.diagnostics, any_release=any_release)
    candidates = sorted(
        (*commented.remaining, *commented.problems), key=lambda d: (d.start, d.end, d.code)
    )
    selected = tuple(d for d in candidates if selection.selects(d.code, source.path))
    ignored = tuple(d for d in candidates if not selection.selects(d.code, source.path))
    new, baselined = (selected, ()) if baseline is None else baseline.split(selected)
    silent = (*commented.suppressed, *ignored, *baselined)
    return Triage(
        withhold(replace(analysis, diagnostics=new), silent),
        commented.suppressed,
        ignored,
        baselined,
    )


def withhold(analysis: Analysis, silent: Iterable[Diagnostic]) -> Analysis:
    """Leave alone every reducer of which a finding stays silent.

    A reducer is rewritten whole or not at all: its other findings stay, without a fix.
    """
    withheld = {diagnostic.group for diagnostic in silent} - {None}
    if not withheld:
        return analysis
    return replace(
        analysis,
        diagnostics=tuple(unfixable(d) if d.group in withheld else d for d in analysis.diagnostics),
        groups=tuple(group for group in analysis.groups if group.ident not in withheld),
    )


def unfixable(diagnostic: Diagnostic) -> Diagnostic:
    """The same finding, without the rewrite that would resolve it."""
    return replace(diagnostic, fix=Fix.NONE, group=None)
