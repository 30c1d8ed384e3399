"""RM205: a contribution comes after the finalize.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.spelling import element
from reducer_rules.timeline import Timeline, Update


class UpdateAfterFinalize(SemanticRule):
    code = "RM205"
    name = "update-after-finalize"
    summary = "a contribution comes after the finalize"
    explanation = (
        "The finalize ends the epoch: what is contributed later is in no result. The RFC (tile- "
        "ai/tilelang#2897) rejects it, and so does TileLang from 0.1.14 on. On 0.1.13 such a "
        "statement changes every thread's own copy of the result instead, as an ordinary loop "
        "over a fragment does."
    )
    help = (
        "contribute before the finalize, or change a fragment that holds the result with an "
        "ordinary store"
    )
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for k in T.serial(4):
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i]
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0] + 1.0
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
acc[0] += 1.0
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        late = filter(None, map(_first_late, lifetimes(timeline)))
        for update in distinct(late):
            closer = next(found for life in lifetimes(timeline) for found in life.closers(update))
            yield self.finding(
                update,
                f"`{element(timeline.name, update)}` is updated after the finalize of reducer "
                f"`{timeline.name}` on line {closer.span.line}",
                target,
                label="after the end of its epoch",
            )


def _first_late(life: Lifetime) -> Update | None:
    """The first of them: later ones have the same cause."""
    return next((update for update in life.of(Update) if life.closers(update)), None)
