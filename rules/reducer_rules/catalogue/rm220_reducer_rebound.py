"""RM220: the name of a reducer is bound again.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Escape, EscapeKind, Timeline


class ReducerRebound(SemanticRule):
    code = "RM220"
    name = "reducer-rebound"
    summary = "the name of a reducer is bound again"
    explanation = (
        "After a second binding the name stands for something else, on some paths or on all, so "
        "which statements belong to the reducer is not known from the text. The RFC "
        "(tile-ai/tilelang#2897) has a reducer be one opaque handle from its allocation to its "
        "finalize."
    )
    help = "give the other value a name of its own"
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
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
acc[0] = 0.0
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
acc = acc[0] * 2.0
B[0] = acc
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
acc = T.alloc_fragment((1,), "float32")
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for escape in timeline.of(Escape):
            if escape.kind is EscapeKind.REBIND:
                yield self.finding(
                    escape,
                    f"the name of reducer `{timeline.name}` is bound again to something else",
                    target,
                    label="second binding",
                )
