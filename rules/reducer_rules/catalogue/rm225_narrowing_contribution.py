"""RM225: a wide contribution to a narrow reducer is rounded earlier in v2.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, Fix, Rule, Severity, Target
from reducer_rules.spelling import element
from reducer_rules.timeline import Timeline, Update

_WIDE = frozenset({"float32", "float64"})
_NARROW = frozenset({"float16", "bfloat16"})


class NarrowingContribution(Rule):
    code = "RM225"
    name = "narrowing-contribution"
    severity = Severity.WARNING
    fix = Fix.NONE
    summary = "a wide contribution to a narrow reducer is rounded earlier in v2"
    explanation = (
        "In v1 `acc[i] += v` computes the sum in the wider dtype and rounds what it stores. "
        "`T.reducer_update` of TileLang 0.1.14 and later casts the contribution to the reducer's "
        "dtype first and combines there (tile-ai/tilelang#2940), so the last bits differ, and a "
        "value beyond the narrow range becomes infinite before it is combined."
    )
    help = "allocate the reducer in the dtype of its contributions, and cast the result"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float16", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += T.cast(A[i], "float16")
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float16", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += T.cast(A[i], "float32")
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "bfloat16", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += T.cast(A[i], "float32")
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if timeline.dtype not in _NARROW:
            return
        for update in timeline.updates:
            if _is_v1(update) and update.contribution_dtype in _WIDE:
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is {timeline.dtype} and its "
                    f"contribution {update.contribution_dtype}: v2 rounds the contribution "
                    "before it is combined, v1 rounded after",
                    target,
                    label=str(update.contribution_dtype),
                )


def _is_v1(update: Update) -> bool:
    """Only in v1 form does an update say how it combines."""
    return update.combine is not None
