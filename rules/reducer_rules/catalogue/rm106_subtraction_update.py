"""RM106: `acc[i] -= v` as an update: a contribution of `-v`.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import element, update_call
from reducer_rules.timeline import Timeline, UpdateForm


class SubtractionUpdate(LegacyRule):
    code = "RM106"
    name = "subtraction-update"
    summary = "a subtraction contributes to a reducer"
    explanation = (
        "Subtraction is no reduction operator: it is neither associative nor commutative. "
        "`acc[i] -= v` on a sum is the contribution of `-v`, as the RFC reads it "
        "(tile-ai/tilelang#2897), but the compatibility shim of TileLang 0.1.14 and later does "
        "not accept it. In a dtype without a sign the negated value wraps, as the subtraction did."
    )
    help = "contribute the negated value with T.reducer_update"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], -A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
total = T.alloc_fragment((8,), "float32")
T.clear(total)
for i in T.Parallel(8):
    total[i] -= A[i]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] -= A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] = acc[0] - A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for update in timeline.updates:
            if update.form is UpdateForm.SUBTRACT:
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is updated by subtraction",
                    target,
                    help=f"write `{update_call(timeline.name, update, target.dialect)}`",
                    label="v1 update",
                )
