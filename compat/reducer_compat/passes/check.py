"""Run the rules of `reducer_rules` over the timelines of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.passes.collect import Collected
from reducer_rules.rule import Finding, Rule, Severity, Target
from reducer_rules.timeline import Timeline


def check(collected: Collected) -> None:
    """Raise the first error of the first reducer that has one.

    Raises:
        ReducerError: a rule of the RM2xx family refuses the reducer.
    """
    target = Target(release=adapter().release, compat=True)
    for reducer, timeline in zip(collected.reducers, collected.timelines(None), strict=True):
        for finding in findings(timeline, target):
            raise ReducerError(
                finding.code,
                finding.message,
                kernel=collected.kernel,
                location=reducer.locations.get(finding.event, reducer.location) or reducer.location,
                fix=finding.help,
            )


def findings(timeline: Timeline, target: Target) -> Iterator[Finding]:
    """The errors of the semantic rules in one timeline."""
    for rule in _semantic_rules():
        for finding in rule.check(timeline, target):
            if finding.severity is Severity.ERROR:
                yield finding


def _semantic_rules() -> tuple[Rule, ...]:
    from reducer_rules import catalogue

    load = getattr(catalogue, "rules", None)
    return tuple(rule for rule in load() if rule.code.startswith("RM2")) if load else ()
