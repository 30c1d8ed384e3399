"""RM224: a read that some path reaches without the finalize.

https://github.com/tile-ai/tilelang/pull/3044
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, covers, distinct, extra_branches, lifetimes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Branch, Condition, Finalize, Load, Timeline

_TOLD_ELSEWHERE = frozenset({Condition.THREAD, Condition.UNKNOWN})


class ReadWithoutResult(SemanticRule):
    code = "RM224"
    name = "read-without-result"
    summary = "a read that some path reaches without the finalize"
    explanation = (
        "Where the finalize is under a condition and the read is not, one path reads what was "
        "never combined: one thread's partial in v1, a result fragment that nothing wrote in v2. "
        "A skipped finalize is legal (tile-ai/tilelang#3044) as long as the result is unread too. "
        "Loops around the finalize are taken to run."
    )
    help = "put the read under the same condition, or finalize unconditionally"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if B[0] > 0:
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for k in T.serial(4):
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i]
    T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if B[0] > 0:
    T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
import tilelang.language as T


def make(reduce: bool):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(8):
                acc[0] += A[i]
            if reduce:
                T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for load in distinct(load for life in lives for load in life.of(Load)):
            missed = next(filter(None, (_missed(load, life) for life in lives)), None)
            if missed is not None:
                finalize, branch = missed
                text = f" `{branch.text}`" if branch.text else ""
                yield self.finding(
                    load,
                    f"reducer `{timeline.name}` is read also where the condition{text} skips its "
                    f"finalize on line {finalize.span.line}",
                    target,
                    label="read",
                )


def _missed(load: Load, life: Lifetime) -> tuple[Finalize, Branch] | None:
    """The last finalize before the read that a branch may skip, with that branch."""
    closers = life.closers(load) if load in life.events else ()
    if not closers or any(closer.destination is not None for closer in closers):
        return None
    if covers(closers, load):
        return None
    branches = extra_branches(closers[-1], load)
    if any(branch.condition in _TOLD_ELSEWHERE for branch in branches):
        return None
    return closers[-1], branches[0]
