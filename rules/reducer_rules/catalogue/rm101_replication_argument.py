"""RM101: `alloc_reducer(replication=...)` selects the v1 reducer.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.timeline import Timeline


class ReplicationArgument(LegacyRule):
    code = "RM101"
    name = "replication-argument"
    summary = "`replication=` selects the deprecated v1 reducer"
    explanation = (
        "In v1, `replication` chose the layout of an accumulator fragment, and with it how often "
        "a contribution was counted (tile-ai/tilelang#2408). TileLang 0.1.14 made the layout the "
        "compiler's own affair: giving the argument there selects the old surface and raises a "
        "DeprecationWarning (#2940). v2 needs no such argument."
    )
    help = "remove `replication=`; v2 chooses the layout itself"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="sum")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_fragment((8,), "float32")
T.clear(acc)
T.copy(acc, A)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", "max", "none")
T.fill(acc, -T.infinity("float32"))
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for alloc in timeline.allocs:
            if alloc.replication is not None:
                yield self.finding(
                    alloc,
                    f"reducer `{timeline.name}` is allocated with `replication=`, which v2 "
                    "does not have",
                    target,
                    label="selects the v1 reducer",
                )
