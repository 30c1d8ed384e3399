"""RM102: an allocation without `replication=` whose statements are all v1.

https://github.com/tile-ai/tilelang/pull/3043
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import v1_statements, v2_events
from reducer_rules.timeline import Timeline


class DefaultAllocation(LegacyRule):
    code = "RM102"
    name = "default-allocation"
    summary = "a default allocation is used with v1 statements"
    explanation = (
        "The same `T.alloc_reducer(shape, dtype)` means a v1 reducer up to TileLang 0.1.13 and a "
        "v2 reducer from 0.1.14 on. There its v1 statements compile only while a compatibility "
        "shim recognizes all of them (tile-ai/tilelang#3043); anything beyond the shim's "
        "whitelist is a compile error, and the shim goes when the old syntax does."
    )
    help = "write T.reducer_init, T.reducer_update and T.finalize_reducer(acc, result)"
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
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="min")
T.fill(acc, T.infinity("float32"))
for i in T.Parallel(8):
    acc[0] = T.min(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        statements = v1_statements(timeline)
        if not statements or v2_events(timeline):
            return
        for alloc in timeline.allocs:
            if alloc.replication is None:
                yield self.finding(
                    alloc,
                    f"reducer `{timeline.name}` is allocated with the default replication and "
                    "used with v1 statements",
                    target,
                    label=f"first v1 statement on line {statements[0].span.line}",
                )
