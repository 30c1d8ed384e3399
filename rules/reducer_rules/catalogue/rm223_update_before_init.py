"""RM223: a contribution comes before the init.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.spelling import element
from reducer_rules.timeline import Timeline, Update


class UpdateBeforeInit(SemanticRule):
    code = "RM223"
    name = "update-before-init"
    summary = "a contribution comes before the init"
    explanation = (
        "The init sets every partial to the identity, so what was contributed before is lost. "
        "The RFC (tile-ai/tilelang#2897) rejects it, and so does TileLang from 0.1.14 on; v1 "
        "checked nothing."
    )
    help = "move the init above the first update"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc, 0, A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.reducer_init(acc)
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for k in T.serial(4):
    for i in T.Parallel(8):
        acc[0] += A[i]
    T.clear(acc)
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for update in distinct(filter(None, map(_first_early, lifetimes(timeline)))):
            yield self.finding(
                update,
                f"`{element(timeline.name, update)}` is updated before reducer "
                f"`{timeline.name}` is initialized",
                target,
                label="before its epoch",
            )


def _first_early(life: Lifetime) -> Update | None:
    """The first of them: later ones have the same cause, and without any init it is RM206's."""
    if not life.openers:
        return None
    return next((update for update in life.of(Update) if life.opener(update) is None), None)
