"""RM214: a reducer is indexed with the wrong number of indices.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Load, LoadForm, Timeline, Update


class IndexArity(SemanticRule):
    code = "RM214"
    name = "index-arity"
    summary = "a reducer is indexed with the wrong number of indices"
    explanation = (
        "An update names one logical output, so it takes as many indices as the reducer has "
        "dimensions (tile-ai/tilelang#2897). With fewer it would name a row, and TileLang has no "
        "such contribution: 0.1.15 raises an IndexError while it traces the kernel."
    )
    help = "give one index per dimension"
    valid = (
        """\
acc = T.alloc_reducer((4, 2), "float32")
result = T.alloc_fragment((4, 2), "float32")
T.reducer_init(acc)
for i, j in T.Parallel(4, 2):
    T.reducer_update(acc[i, j], A[i * 2 + j])
T.finalize_reducer(acc, result)
B[0] = result[0, 0]
""",
        """\
acc = T.alloc_reducer(8, "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((4, 2), "float32")
result = T.alloc_fragment((4, 2), "float32")
T.reducer_init(acc)
for i in T.Parallel(4):
    T.reducer_update(acc[i], A[i])
T.finalize_reducer(acc, result)
B[0] = result[0, 0]
""",
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i, 0] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if timeline.shape is None:
            return
        rank = len(timeline.shape)
        for event in timeline.events:
            if not isinstance(event, Update | Load) or not event.indices:
                continue
            if isinstance(event, Load) and event.form is LoadForm.WHOLE:
                continue
            given = len(event.indices)
            if given != rank:
                yield self.finding(
                    event,
                    f"reducer `{timeline.name}` has {_count(rank, 'dimension', 'dimensions')} "
                    f"and is given {_count(given, 'index', 'indices')}",
                    target,
                    label=", ".join(index.text for index in event.indices),
                )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
