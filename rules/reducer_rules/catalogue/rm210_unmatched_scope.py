"""RM210: init and finalize are not in one control-flow scope.

https://github.com/tile-ai/tilelang/pull/3044
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import (
    Lifetime,
    covers,
    distinct,
    emitted,
    extra_branches,
    lifetimes,
    precedes,
    repeats,
)
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import (
    Branch,
    Condition,
    Event,
    Finalize,
    Frame,
    Init,
    Loop,
    Timeline,
    Update,
)


class UnmatchedScope(SemanticRule):
    code = "RM210"
    name = "unmatched-scope"
    summary = "init and finalize are not in one control-flow scope"
    explanation = (
        "Every execution of the init has to be closed by at most one finalize, in the same "
        "iteration and branch. A finalize in a loop that the init is outside of combines the "
        "same partials again and again; one outside of the init's loop or branch may run without "
        "an open epoch. TileLang from 0.1.14 on asks that the finalize be in the init's scope or "
        "under further conditions within it (tile-ai/tilelang#3043, #3044)."
    )
    help = "put init and finalize into the same loop and branch"
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
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for k in T.serial(4):
    for i in T.Parallel(8):
        acc[0] += A[i]
if B[0] > 0:
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
import tilelang.language as T


def make(total: bool):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            if total:
                acc = T.alloc_reducer((1,), "float32", "sum", replication="all")
                T.clear(acc)
                for i in T.Parallel(8):
                    acc[0] += A[i]
            else:
                acc = T.alloc_reducer((1,), "float32", "max", replication="all")
                T.clear(acc)
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
for k in T.serial(4):
    for i in T.Parallel(8):
        acc[0] += A[i]
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

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for finalize in distinct(f for life in lives for f in life.of(Finalize)):
            message = next(filter(None, (_mismatch(finalize, life) for life in lives)), None)
            if message is not None:
                yield self.finding(
                    finalize,
                    f"reducer `{timeline.name}` is {message}",
                    target,
                    label="not in the scope of the init",
                )


def _mismatch(finalize: Finalize, life: Lifetime) -> str | None:
    opener = life.opener(finalize)
    if opener is None or finalize not in life.events or _told_elsewhere(opener, finalize, life):
        return None
    outside = _outside(opener, finalize, life)
    if outside is not None:
        return f"initialized {_inside(outside)}{_on_line(outside)}, and finalized outside"
    loop = next((frame for frame in finalize.loops if frame not in opener.loops), None)
    if loop is not None:
        return f"finalized in a {loop.kind.value} loop{_on_line(loop)}, and initialized outside"
    return None


def _on_line(frame: Frame) -> str:
    """Where a loop or branch starts; TIR does not say."""
    return f" on line {frame.span.line}" if frame.span.line else ""


def _outside(opener: Event, finalize: Finalize, life: Lifetime) -> Frame | None:
    """The frame around the init that the finalize is not in."""
    inner = emitted(finalize.context)
    for position, frame in enumerate(emitted(opener.context)):
        if inner[position : position + 1] != (frame,):
            return frame
    openers = [other for other in life.openers if precedes(other, finalize)]
    traced = {Condition.COMPILE_TIME}
    # A trace that allocates takes the flags that the allocation is under.
    given = [branch for branch in life.alloc.branches if branch.condition in traced]
    if covers(openers, finalize, traced, given):
        return None
    branches = extra_branches(opener, finalize)
    return next(b for b in branches if b.condition in traced and b not in given)


def _inside(frame: Frame) -> str:
    if isinstance(frame, Loop):
        return f"in a {frame.kind.value} loop"
    condition = f"`if {frame.text}`" if frame.text else "a condition"
    return f"under the else of {condition}" if frame.arm else f"under {condition}"


def _told_elsewhere(opener: Event, finalize: Finalize, life: Lifetime) -> bool:
    """RM208, RM211, RM212, RM221 and RM223 have the cause then."""
    unknown = any(b.condition is Condition.UNKNOWN for b in extra_branches(finalize, opener))
    divergent = any(
        isinstance(frame, Branch) and frame.condition is Condition.THREAD
        for event in (opener, finalize)
        for frame in event.context
    )
    in_parallel = opener.in_parallel or finalize.in_parallel
    early = any(life.opener(update) is None for update in life.of(Update))
    return unknown or divergent or in_parallel or early or bool(repeats(life.of(Init)))
