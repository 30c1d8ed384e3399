"""RM202: a store that is no contribution.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Store, Timeline


class UnsupportedStore(SemanticRule):
    code = "RM202"
    name = "unsupported-store"
    summary = "a store into a reducer is no contribution"
    explanation = (
        "The RFC (tile-ai/tilelang#2897) rejects an arbitrary store to a reducer: while an epoch "
        "is open there is one partial per thread, and a value stored to it, a rescale by `*=` or "
        "a T.reduce into it means something else on every thread. TileLang 0.1.14 and later "
        'refuse it ("illegal store to reducer"). A running rescale, as in online softmax, needs '
        "an epoch per step and an ordinary fragment that carries the running value. A store "
        "after an in-place finalize goes to the result and is fine."
    )
    help = (
        "contribute with T.reducer_update, or finalize first and store to the result; keep a "
        "running value in an ordinary fragment"
    )
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
acc[0] = 1.0
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] = acc[0] + A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] = A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for k in T.serial(4):
    for i in T.Parallel(1):
        acc[0] *= B[0]
    for i in T.Parallel(8):
        acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for store in distinct(store for life in lives for store in life.of(Store)):
            message = _complaint(timeline.name, store, lives)
            if message is not None:
                yield self.finding(store, message, target, label="no contribution")


def _complaint(name: str, store: Store, lives: tuple[Lifetime, ...]) -> str | None:
    closers = [closer for life in lives for closer in life.closers(store)]
    if not closers:
        return f"reducer `{name}` is written by {store.what}, which is no contribution"
    for closer in closers:
        if closer.destination is not None:
            return (
                f"reducer `{name}` is written after its finalize; its result is in "
                f"`{closer.destination}`"
            )
    return None
