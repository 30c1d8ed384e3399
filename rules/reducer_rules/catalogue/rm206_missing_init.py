"""RM206: nothing opens the epoch.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes, precedes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Event, Finalize, Store, Timeline, Update


class MissingInit(SemanticRule):
    code = "RM206"
    name = "missing-init"
    summary = "nothing opens the epoch of a reducer"
    explanation = (
        "The RFC (tile-ai/tilelang#2897) asks for exactly one init per allocation. TileLang up to "
        '0.1.13 ends in an internal error at the finalize ("must have a pairing T.fill ahead of '
        'it"), and from 0.1.14 on refuses the reducer ("allocated but never initialized"), both '
        "without a source line. Only the RFC's own spelling opens the epoch at the allocation."
    )
    help = "open the epoch with T.reducer_init before the first update"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc, 0, A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        name = timeline.name
        for event in distinct(filter(None, map(_unopened, lifetimes(timeline)))):
            if isinstance(event, Finalize):
                message = f"reducer `{name}` is finalized before it is initialized"
            else:
                message = f"reducer `{name}` is never initialized"
            yield self.finding(
                event,
                message,
                target,
                help=f"add `T.reducer_init({name})` before the first update",
                label="finalize" if isinstance(event, Finalize) else "allocated here",
            )


def _unopened(life: Lifetime) -> Event | None:
    """The allocation without an init, or the finalize before it; a plain store is RM202's."""
    if not life.openers:
        return None if life.of(Store) else life.alloc
    early = [finalize for finalize in life.of(Finalize) if life.opener(finalize) is None]
    if not early or any(precedes(update, early[0]) for update in life.of(Update)):
        return None
    return early[0]
