"""RM107: `T.finalize_reducer(acc)` leaves the result in the reducer.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import v1_events
from reducer_rules.timeline import Finalize, Timeline


class InPlaceFinalize(LegacyRule):
    code = "RM107"
    name = "in-place-finalize"
    summary = "the finalize has no destination"
    explanation = (
        "v1 left the result in the reducer. In v2 a reducer is a handle without a readable "
        "value, and `T.finalize_reducer(acc, result)` writes an ordinary fragment, whose layout "
        "is free to fit its readers (tile-ai/tilelang#2940). Every read after the finalize takes "
        "the fragment instead."
    )
    help = "allocate a result fragment of the same shape and dtype, and finalize into it"
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
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, dst=result)
B[0] = result[0]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
for k in T.serial(4):
    acc = T.alloc_reducer((1,), "float32")
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i]
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        name = timeline.name
        for event in v1_events(timeline):
            if isinstance(event, Finalize):
                yield self.finding(
                    event,
                    f"reducer `{name}` is finalized in place",
                    target,
                    help=f"write `T.finalize_reducer({name}, {name}_result)` and read the result "
                    "fragment",
                    label="no destination",
                )
