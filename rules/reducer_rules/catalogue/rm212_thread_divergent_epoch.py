"""RM212: init or finalize under a condition that differs between threads.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Condition, Finalize, Init, Timeline


class ThreadDivergentEpoch(SemanticRule):
    code = "RM212"
    name = "thread-divergent-epoch"
    summary = "init or finalize under a condition that differs between threads"
    explanation = (
        "The finalize is a collective with barriers: a thread that does not reach it makes the "
        "others wait for ever or leaves its partial out, and a partial that only some threads "
        "initialized holds garbage. The RFC (tile-ai/tilelang#2897) rejects a finalize in "
        "divergent control flow. TileLang has no check of its own for it (#3043 leaves uniformity "
        "to the author): 0.1.13 and 0.1.15 end in an internal error where the condition bounds "
        "the thread index, and compile the rest. A condition that all threads decide alike is "
        "legal (#3044)."
    )
    help = "move it out of the condition; guard the reads of the result instead"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
if T.get_thread_binding() == 0:
    B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if B[0] > 0:
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if T.get_thread_binding() == 0:
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
        """\
tx = T.get_thread_binding()
acc = T.alloc_reducer((1,), "float32", replication="all")
if tx < 32:
    T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for event in timeline.events:
            if not isinstance(event, Init | Finalize):
                continue
            for branch in event.branches:
                if branch.condition is Condition.THREAD:
                    what = "initialized" if isinstance(event, Init) else "finalized"
                    text = f" `{branch.text}`" if branch.text else ""
                    yield self.finding(
                        event,
                        f"reducer `{timeline.name}` is {what} under a condition{text} that "
                        "differs between threads",
                        target,
                        label="not reached by all threads",
                    )
                    break
