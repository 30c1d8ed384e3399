"""Run the rules of `reducer_rules` over the timelines of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.passes.collect import Collected
from reducer_rules.epochs import precedes
from reducer_rules.rule import Finding, Rule, Severity, Target
from reducer_rules.timeline import Finalize, Init, Timeline


def check(collected: Collected) -> None:
    """Raise the first error of the first reducer that has one.

    Raises:
        ReducerError: a rule of the RM2xx family refuses the reducer.
    """
    target = Target(release=adapter().release, compat=True)
    for reducer, timeline in zip(collected.reducers, collected.timelines(None), strict=True):
        for finding in (f for epoch in epochs(timeline) for f in findings(epoch, target)):
            raise ReducerError(
                finding.code,
                finding.message,
                kernel=collected.kernel,
                location=reducer.locations.get(finding.event, reducer.location) or reducer.location,
                fix=finding.help,
            )


def epochs(timeline: Timeline) -> Iterator[Timeline]:
    """A timeline for each epoch, where one allocation has several, one after the other.

    TileLang's own v2 has one epoch per allocation; ours opens it again after a finalize. Inits
    with no finalize between them stay together, for the rules to refuse.
    """
    alloc, rest = timeline.events[:1], timeline.events[1:]
    first = 0
    for position, event in enumerate(rest):
        closed = [e for e in rest[first:position] if isinstance(e, Finalize)]
        if isinstance(event, Init) and closed and precedes(closed[-1], event):
            yield replace(timeline, events=alloc + rest[first:position])
            first = position
    yield replace(timeline, events=alloc + rest[first:])


def findings(timeline: Timeline, target: Target) -> Iterator[Finding]:
    """The errors of the semantic rules in one timeline."""
    for rule in _semantic_rules():
        for finding in rule.check(timeline, target):
            if finding.severity is Severity.ERROR:
                yield finding


@lru_cache(maxsize=1)
def _semantic_rules() -> tuple[Rule, ...]:
    from reducer_rules import catalogue

    load = getattr(catalogue, "rules", None)
    return tuple(rule for rule in load() if rule.code.startswith("RM2")) if load else ()
