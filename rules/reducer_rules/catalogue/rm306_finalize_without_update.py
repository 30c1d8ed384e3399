"""RM306: a finalize of a reducer that no parallel loop updates.

https://github.com/tile-ai/tilelang/issues/3033
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Escape, EscapeKind, Event, Store, Timeline, Update


class FinalizeWithoutUpdate(ReleaseRule):
    code = "RM306"
    name = "finalize-without-update"
    affected = between("0.1.8", "0.1.13")
    summary = "a reducer is finalized and never updated"
    explanation = (
        "Up to TileLang 0.1.13 only accesses to its elements give a reducer its layout. A finalize "
        "with none between it and the clear ends in an internal error, `bad_optional_access` "
        "(tile-ai/tilelang#3033), also where `T.reduce` was meant to fill the reducer. TileLang "
        "0.1.14 and later compile it and give the identity."
    )
    help = "update the reducer in a `T.Parallel` loop, or use a fragment with `T.reduce`"
    example_target = Target(Release.parse("0.1.13"))
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(128):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
tile = T.alloc_fragment((8,), "float32")
T.copy(A, tile)
T.clear(acc)
T.reduce_sum(tile, acc, dim=0, clear=False)
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases or any(map(_may_update, timeline.events)):
            return
        for finalize in timeline.finalizes:
            yield self.finding(
                finalize,
                f"`{timeline.name}` is finalized and never updated: {named(releases)} fails to "
                "compile it",
                target,
            )


def _may_update(event: Event) -> bool:
    """Whether `event` may contribute; an operation on the whole reducer gives it no layout."""
    if isinstance(event, Escape):
        return event.kind is not EscapeKind.OPERAND
    return isinstance(event, Update) or (isinstance(event, Store) and bool(event.indices))
