"""RM110: the shipped spelling where the RFC's was asked for.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import element, update_call
from reducer_rules.timeline import Dialect, Timeline, UpdateForm


class ShippedSpelling(LegacyRule):
    code = "RM110"
    name = "shipped-spelling"
    summary = "the shipped spelling, where the RFC's was asked for"
    explanation = (
        "Both spellings of v2 mean the same. The one that TileLang 0.1.14 shipped names the "
        "output as `acc[i]`, which looks like a read and is none; the RFC "
        "(tile-ai/tilelang#2897) passes the reducer and the index apart. This rule speaks only "
        "where `--dialect rfc` asks for the latter, which needs reducer_compat on every release."
    )
    help = "pass the reducer and the index as two arguments"
    example_target = Target(compat=True, dialect=Dialect.RFC)
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc, 0, A[i])
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
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((4, 2), "float32")
T.reducer_init(acc)
for i, j in T.Parallel(4, 2):
    T.reducer_update(acc[i, j], A[i * 2 + j])
result = T.alloc_fragment((4, 2), "float32")
T.finalize_reducer(acc, result)
B[0] = result[0, 0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if target.dialect is not Dialect.RFC:
            return
        for update in timeline.updates:
            if update.form is UpdateForm.SHIPPED:
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is updated in the shipped spelling, and "
                    "the RFC's was asked for",
                    target,
                    help=f"write `{update_call(timeline.name, update, Dialect.RFC)}`",
                    label="shipped spelling",
                )
