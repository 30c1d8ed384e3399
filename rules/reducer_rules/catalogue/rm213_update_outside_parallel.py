"""RM213: a contribution outside any `T.Parallel` loop.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import lifetimes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.spelling import element
from reducer_rules.timeline import Timeline


class UpdateOutsideParallel(SemanticRule):
    code = "RM213"
    name = "update-outside-parallel"
    summary = "a contribution outside any T.Parallel loop"
    explanation = (
        "Outside `T.Parallel` every thread executes the statement, and whether its value counts "
        "once or once per thread is nowhere said: v1 counted it once per thread. TileLang from "
        "0.1.14 on refuses such an update (tile-ai/tilelang#2940). A `T.Parallel(1)` around it "
        "says once."
    )
    help = "wrap it in `for _ in T.Parallel(1):` if it should count once"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for _ in T.Parallel(1):
    T.reducer_update(acc[0], A[0])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    for k in T.serial(2):
        acc[0] += A[i] * k
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.serial(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
T.reducer_update(acc[0], A[0])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for update in timeline.updates:
            late = any(life.closers(update) for life in lives)
            if not update.in_parallel and not late:
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is updated outside any T.Parallel loop, "
                    "so how often it counts is undefined",
                    target,
                    label="executed by every thread",
                )
