"""RM208: one allocation is initialized twice.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import distinct, lifetimes, repeats
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Init, Timeline, exclusive


class DoubleInit(SemanticRule):
    code = "RM208"
    name = "double-init"
    summary = "one allocation is initialized twice"
    explanation = (
        "The RFC (tile-ai/tilelang#2897) allows one static epoch per allocation, and TileLang "
        'from 0.1.14 on refuses a second init ("each allocation supports exactly one epoch"). '
        "It reads the program text: the two arms of a run-time `if` count as two, while a "
        "condition that the trace resolves leaves one. One init in a loop is one static epoch, "
        "opened again in every iteration, and is fine (#3043)."
    )
    help = "allocate a second reducer for the second epoch"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for k in T.serial(4):
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i]
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
import tilelang.language as T


def make(ones: bool):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
            if ones:
                T.fill(acc, 1)
            else:
                T.fill(acc, 0)
            for i in T.Parallel(8):
                acc[0] = T.max(acc[0], A[i])
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i] * A[i]
T.finalize_reducer(acc)
B[0] += acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
if B[0] > 0:
    T.fill(acc, 1)
else:
    T.fill(acc, 0)
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        found = [pair for life in lifetimes(timeline) for pair in repeats(life.of(Init))]
        first = {later.ident: earlier for earlier, later in reversed(found)}
        for init in distinct(later for _, later in found):
            yield self._judge(first[init.ident], init, timeline, target)

    def _judge(self, earlier: Init, later: Init, timeline: Timeline, target: Target) -> Finding:
        name, line = timeline.name, earlier.span.line
        if exclusive(earlier.context, later.context):
            return self.finding(
                later,
                f"reducer `{name}` is initialized in both arms of a condition that is not "
                f"resolved at compile time; the other is on line {line}",
                target,
                help="initialize it once, before the condition, or allocate a reducer in each arm",
                label="second init",
            )
        return self.finding(
            later,
            f"reducer `{name}` is initialized a second time; the first is on line {line}",
            target,
            label="second init",
        )
