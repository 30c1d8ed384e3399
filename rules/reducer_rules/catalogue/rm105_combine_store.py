"""RM105: `acc[i] = acc[i] + v` or `acc[i] = T.max(acc[i], v)` as an update.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import element, update_call
from reducer_rules.timeline import Timeline, UpdateForm


class CombineStore(LegacyRule):
    code = "RM105"
    name = "combine-store"
    summary = "a store of the combined value contributes to a reducer"
    explanation = (
        "v1 wrote a contribution as a store of `combine(acc[i], v)`, which only pattern matching "
        "can tell from any other store; from TileLang 0.1.14 on a reducer has no value to read "
        "while its epoch is open, and only the compatibility shim accepts the form "
        "(tile-ai/tilelang#2940). The combine belongs to the allocation: `T.reducer_update` "
        "names the output and the contribution alone."
    )
    help = "contribute with T.reducer_update"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="max")
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
    total[i] = T.max(total[i], A[i])
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
T.fill(acc, -T.infinity("float32"))
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] = A[i] + acc[0]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for update in timeline.updates:
            if update.form is UpdateForm.COMBINE:
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is updated by a store of its combined "
                    "value",
                    target,
                    help=f"write `{update_call(timeline.name, update, target.dialect)}`",
                    label="v1 update",
                )
