"""RM203: an update combines with another operation than the reducer.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import traced_apart
from reducer_rules.monoid import NATIVE_OPS
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.spelling import element
from reducer_rules.timeline import Timeline, Update, pairs


class MismatchedCombine(SemanticRule):
    code = "RM203"
    name = "mismatched-combine"
    summary = "an update combines with another operation than its reducer"
    explanation = (
        "The partials of all threads are combined by the operation of the allocation, which is "
        "sum where none is given; an update by another operation makes a partial that this does "
        "not fit. v1 never compared the two, and TileLang 0.1.14 and later refuse the store "
        "(tile-ai/tilelang#2940). Where the operation is a variable, updates by different "
        "operations are one reducer only in arms that a trace chooses between."
    )
    help = "give the reducer the operation that its updates use"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
T.fill(acc, -T.infinity("float32"))
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
import tilelang.language as T


def make(op):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", op=op, replication="all")
            T.clear(acc)
            for i in T.Parallel(8):
                if op == "sum":
                    acc[0] += A[i]
                else:
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
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="min", replication="all")
T.fill(acc, T.infinity("float32"))
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if timeline.op is not None and timeline.op not in NATIVE_OPS and not target.compat:
            return
        if timeline.op is None:
            yield from self._against_each_other(timeline, target)
            return
        for update in timeline.updates:
            if update.combine not in (None, timeline.op):
                yield self.finding(
                    update,
                    f"`{element(timeline.name, update)}` is combined by {update.combine}, and "
                    f"reducer `{timeline.name}` by {timeline.op}",
                    target,
                    help=f'allocate `{timeline.name}` with op="{update.combine}", or contribute '
                    f"to {timeline.op}",
                    label=f"combines by {update.combine}",
                )

    def _against_each_other(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if len(timeline.allocs) > 1:
            return
        for earlier, later in pairs(timeline.updates):
            if _clash(earlier, later):
                yield self.finding(
                    later,
                    f"reducer `{timeline.name}` is combined by {later.combine} here and by "
                    f"{earlier.combine} on line {earlier.span.line}",
                    target,
                    help="use one operation, or select by a condition that a trace resolves",
                    label=f"combines by {later.combine}",
                )
                return


def _clash(earlier: Update, later: Update) -> bool:
    return (
        earlier.combine is not None
        and later.combine is not None
        and earlier.combine is not later.combine
        and not traced_apart(earlier.context, later.context)
    )
