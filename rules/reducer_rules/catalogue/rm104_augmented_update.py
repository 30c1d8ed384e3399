"""RM104: `acc[i] += v` as an update.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import element, update_call
from reducer_rules.timeline import Timeline, UpdateForm


class AugmentedUpdate(LegacyRule):
    code = "RM104"
    name = "augmented-update"
    summary = "an augmented assignment contributes to a reducer"
    explanation = (
        "To v1 `acc[i] += v` is an ordinary store, and the compiler forgets that it is a "
        "contribution: where the loop is replicated, every replica adds it "
        "(tile-ai/tilelang#2408, 36 becomes 576). `T.reducer_update` is a contribution by "
        "construction and is counted once whatever the layout (#2940)."
    )
    help = "contribute with T.reducer_update"
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
total = T.alloc_fragment((8,), "float32")
T.clear(total)
for i in T.Parallel(8):
    total[i] += A[i]
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
acc = T.alloc_reducer((2,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    if A[i] > 0:
        acc[i // 4] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for update in timeline.updates:
            if update.form is UpdateForm.AUGMENTED:
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is updated by augmented assignment",
                    target,
                    help=f"write `{update_call(timeline.name, update, target.dialect)}`",
                    label="v1 update",
                )
