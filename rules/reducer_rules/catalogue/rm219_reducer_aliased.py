"""RM219: a reducer has a second name.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import escapes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import EscapeKind, Timeline


class ReducerAliased(SemanticRule):
    code = "RM219"
    name = "reducer-aliased"
    summary = "a reducer has a second name"
    explanation = (
        "Under a second name its statements cannot be told from those on another buffer, so a "
        "rewrite could miss some of them. The RFC (tile-ai/tilelang#2897) rejects aliasing of a "
        "reducer, and TileLang from 0.1.14 on refuses it where it reaches the IR. A name that is "
        "given to a finalized reducer once, and only read, is a name of its result and no finding."
    )
    help = "use one name for the reducer throughout"
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
total = acc
T.copy(total, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
total = acc
T.clear(total)
for i in T.Parallel(8):
    total[0] += A[i]
T.finalize_reducer(total)
T.copy(total, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
total = acc if wide else A
T.copy(total, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for escape in escapes(timeline):
            if escape.kind is EscapeKind.ALIAS:
                second = f" `{escape.detail}`" if escape.detail else ""
                yield self.finding(
                    escape,
                    f"reducer `{timeline.name}` is bound to another name{second}",
                    target,
                    help=f"write `{timeline.name}` throughout",
                    label="second name",
                )
