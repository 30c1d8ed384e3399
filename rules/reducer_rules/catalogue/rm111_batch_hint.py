"""RM111: a batch other than 1 is dropped by the rewrite.

https://github.com/tile-ai/tilelang/issues/2623
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, Fix, Rule, Severity, Target
from reducer_rules.spelling import v1_events
from reducer_rules.timeline import Finalize, Timeline


class BatchHint(Rule):
    code = "RM111"
    name = "batch-hint"
    severity = Severity.NOTE
    fix = Fix.SAFE
    summary = "a batch other than 1 is dropped by the rewrite"
    explanation = (
        "`batch` is a hint on how many outputs one collective takes. Up to TileLang 0.1.15 any "
        "batch that is neither 1 nor the number of outputs reduces the first batch alone "
        "(tile-ai/tilelang#2623); on v2 reducers of 0.1.14 and 0.1.15 whose operands are "
        'fragments it does not compile ("exceeds total output elements"). The rewrite drops it, '
        "which changes speed at most."
    )
    help = "nothing to do: the rewrite leaves the batch out"
    valid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc, batch=1)
B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((8,), "float32")
result = T.alloc_fragment((8,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[i], A[i])
T.finalize_reducer(acc, result, batch=8)
B[0] = result[0]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc, batch=2)
B[0] = acc[0]
""",
        """\
import tilelang.language as T

def make(width):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(8):
                acc[i] += A[i]
            T.finalize_reducer(acc, batch=width)
            B[0] = acc[0]

    return kernel
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for event in v1_events(timeline):
            if isinstance(event, Finalize) and event.batch is not None and event.batch.value != 1:
                yield self.finding(
                    event,
                    f"the batch `{event.batch.text}` of reducer `{timeline.name}` is dropped by "
                    "the rewrite: it is a hint, and wrong unless it equals the number of outputs",
                    target,
                    label="a hint",
                )
