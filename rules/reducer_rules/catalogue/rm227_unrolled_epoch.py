"""RM227: a loop that the trace unrolls opens one allocation again and again.

https://github.com/tile-ai/tilelang/pull/3043
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes, precedes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Event, Finalize, Init, Loop, LoopKind, Timeline


class UnrolledEpoch(SemanticRule):
    code = "RM227"
    name = "unrolled-epoch"
    summary = "a loop that the trace unrolls opens one allocation again and again"
    explanation = (
        "A Python iteration over a list or tuple is unrolled while the kernel is traced, so the "
        "program holds one init per item, all of the same allocation; TileLang from 0.1.14 on "
        "refuses the second as a double init. A loop that stays a loop, as T.serial does, holds "
        "one init and is fine (tile-ai/tilelang#3043). With the allocation inside, each item has "
        "a reducer of its own."
    )
    help = "move the allocation and the result fragment into the loop"
    valid = (
        """\
for scale in [1.0, 2.0]:
    acc = T.alloc_reducer((1,), "float32", replication="all")
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i] * scale
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for scale in [1.0, 2.0]:
    for i in T.Parallel(8):
        acc[0] += A[i] * scale
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for scale in [1.0, 2.0]:
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i] * scale
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
for scale in (1.0, 2.0):
    T.reducer_init(acc)
    for i in T.Parallel(8):
        T.reducer_update(acc[0], A[i] * scale)
    T.finalize_reducer(acc, result)
    B[0] = result[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for init in distinct(init for life in lives for init in life.of(Init)):
            loop = next(filter(None, (_unrolled(init, life) for life in lives)), None)
            if loop is not None:
                yield self.finding(
                    init,
                    f"reducer `{timeline.name}` is initialized once per item of the Python "
                    f"iteration on line {loop.span.line}, which the trace unrolls, and allocated "
                    "outside",
                    target,
                    label="unrolled",
                )


def _unrolled(init: Init, life: Lifetime) -> Loop | None:
    """The unrolled loop around the epoch but not around its allocation."""
    traced = [loop for loop in init.loops if loop.kind is LoopKind.TRACE]
    if not traced or init not in life.events:
        return None
    finalizes = [f for f in life.of(Finalize) if precedes(init, f)]
    return next((loop for loop in traced if _reopens(loop, life.alloc, finalizes)), None)


def _reopens(loop: Loop, alloc: Event, finalizes: list[Finalize]) -> bool:
    return loop not in alloc.loops and all(loop in finalize.loops for finalize in finalizes)
