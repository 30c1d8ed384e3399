"""RM226: the destination of a finalize is a reducer.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Timeline


class DestinationIsReducer(SemanticRule):
    code = "RM226"
    name = "destination-is-reducer"
    summary = "the destination of a finalize is a reducer"
    explanation = (
        "The finalize writes an ordinary value, which a reducer, its own or another, cannot hold: "
        "it has partials. TileLang from 0.1.14 on refuses it (tile-ai/tilelang#2940). In place is "
        "spelled without a destination, in v1 and in the RFC's spelling."
    )
    help = "finalize into a fragment from T.alloc_fragment of the same shape and dtype"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, acc)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
other = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, other)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        name = timeline.name
        for finalize in timeline.finalizes:
            own = finalize.destination == name
            if own or finalize.destination_is_reducer:
                where = "itself" if own else f"`{finalize.destination}`, which is a reducer"
                yield self.finding(
                    finalize,
                    f"reducer `{name}` is finalized into {where}",
                    target,
                    label="no ordinary buffer",
                )
