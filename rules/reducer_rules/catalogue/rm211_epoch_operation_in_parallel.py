"""RM211: init or finalize inside `T.Parallel`.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Finalize, Init, Timeline


class EpochOperationInParallel(SemanticRule):
    code = "RM211"
    name = "epoch-operation-in-parallel"
    summary = "init or finalize inside T.Parallel"
    explanation = (
        "Opening and closing an epoch are done by all participating threads together; the "
        "iterations of `T.Parallel` are spread over them. TileLang 0.1.13 and 0.1.15 allow only "
        "elementwise operations in the loop and refuse a finalize there, and the verifier of "
        "0.1.14 and later refuses the init by name (tile-ai/tilelang#3043). The RFC (#2897) keeps "
        "the finalize out of anything but uniform control flow."
    )
    help = "move it out of the T.Parallel loop"
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
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
for k in T.serial(4):
    T.reducer_init(acc)
    for i in T.Parallel(8):
        T.reducer_update(acc[0], A[i])
    T.finalize_reducer(acc, result)
    B[0] = result[0]
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
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
for i in T.Parallel(8):
    T.reducer_init(acc)
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for event in timeline.events:
            if isinstance(event, Init | Finalize) and event.in_parallel:
                what = "initialized" if isinstance(event, Init) else "finalized"
                yield self.finding(
                    event,
                    f"reducer `{timeline.name}` is {what} inside a T.Parallel loop",
                    target,
                    label="inside T.Parallel",
                )
