"""RM108: a positional batch becomes the destination in v2.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.timeline import Timeline


class PositionalBatch(LegacyRule):
    code = "RM108"
    name = "positional-batch"
    summary = "a positional batch becomes the destination in v2"
    explanation = (
        "The second parameter of `T.finalize_reducer` is `batch` in TileLang 0.1.10 to 0.1.13 "
        "and the destination from 0.1.14 on (tile-ai/tilelang#2940). A number passed by position "
        "is taken for a buffer there and fails."
    )
    help = "drop the batch, which is only a hint, and pass the result fragment"
    valid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc, batch=1)
B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc, 8)
B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc, 4 * 2)
B[0] = acc[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for finalize in timeline.finalizes:
            if finalize.batch is not None and finalize.batch.positional:
                yield self.finding(
                    finalize,
                    f"the batch `{finalize.batch.text}` of reducer `{timeline.name}` is passed "
                    "where v2 takes the destination",
                    target,
                    label="second argument",
                )
