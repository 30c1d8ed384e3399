"""RM221: the finalize may be left out where the init is not.

https://github.com/tile-ai/tilelang/pull/3044
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import (
    Lifetime,
    covers,
    distinct,
    extra_branches,
    lifetimes,
    precedes,
    repeats,
)
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Branch, Condition, Event, Finalize, Timeline


class ConditionalFinalize(SemanticRule):
    code = "RM221"
    name = "conditional-finalize"
    summary = "the finalize may be left out where the init is not"
    explanation = (
        "A finalize under a condition that all threads decide alike at run time is legal: its "
        "partials are left unread (tile-ai/tilelang#3044). A condition that the trace resolves "
        "to false leaves no finalize in the program at all, and TileLang from 0.1.14 on refuses "
        "the epoch. Where it is not known which of the two a condition is, or whether it differs "
        "between threads, moving the finalize could break either."
    )
    help = "put the init under the same condition, or finalize unconditionally"
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
import tilelang.language as T


def make(reduce: bool):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            if reduce:
                acc = T.alloc_reducer((1,), "float32")
                result = T.alloc_fragment((1,), "float32")
                T.reducer_init(acc)
                for i in T.Parallel(8):
                    T.reducer_update(acc[0], A[i])
                T.finalize_reducer(acc, result)
                T.copy(result, B)

    return kernel
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if decide(B):
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
import tilelang.language as T


def make(reduce: bool):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            for i in T.Parallel(8):
                T.reducer_update(acc[0], A[i])
            if reduce:
                T.finalize_reducer(acc, result)
                T.copy(result, B)

    return kernel
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for finalize in distinct(f for life in lives for f in life.of(Finalize)):
            branch = next(filter(None, (_doubtful(finalize, life) for life in lives)), None)
            if branch is not None:
                yield self.finding(
                    finalize,
                    f"reducer `{timeline.name}` is finalized {_under(branch)}",
                    target,
                    label="may be left out",
                )


def _doubtful(finalize: Finalize, life: Lifetime) -> Branch | None:
    """The branch that may leave the finalize out of the program."""
    opener = life.opener(finalize)
    if opener is None or finalize not in life.events or repeats(life.of(Finalize)):
        return None
    extra = extra_branches(finalize, opener)
    if any(branch.condition is Condition.THREAD for branch in extra):
        return None
    for branch in extra:
        if branch.condition is Condition.UNKNOWN:
            return branch
    if finalize.destination is None or _always_emitted(opener, life):
        return None
    return next((b for b in extra if b.condition is Condition.COMPILE_TIME), None)


def _always_emitted(opener: Event, life: Lifetime) -> bool:
    finalizes = [f for f in life.of(Finalize) if precedes(opener, f)]
    return covers(finalizes, opener, {Condition.COMPILE_TIME})


def _under(branch: Branch) -> str:
    text = f" `{branch.text}`" if branch.text else ""
    if branch.condition is Condition.UNKNOWN:
        return (
            f"under a condition{text} that its init is not under, and it is not known when that "
            "is decided"
        )
    return (
        f"under the compile-time condition{text} that its init is not under: with the other "
        "value the epoch is never closed"
    )
