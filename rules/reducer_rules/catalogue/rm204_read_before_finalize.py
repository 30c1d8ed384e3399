"""RM204: a reducer is read while it has no value.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Finalize, Load, Store, Timeline, Update


class ReadBeforeFinalize(SemanticRule):
    code = "RM204"
    name = "read-before-finalize"
    summary = "a reducer is read while it has no value"
    explanation = (
        "Until the finalize every thread holds a partial of its own, and which contributions are "
        "in it depends on the layout. The RFC (tile-ai/tilelang#2897) rejects the read of an "
        'open reducer, and so does TileLang from 0.1.14 on ("illegal read of reducer"). With a '
        "destination the reducer has no value after the finalize either: the destination has it."
    )
    help = "finalize first, and read the result"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
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
B[0] = acc[0]
T.finalize_reducer(acc)
""",
        """\
acc = T.alloc_reducer((2,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i] * acc[1]
T.finalize_reducer(acc)
T.copy(acc[0:1], B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
B[0] = acc[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        lives = lifetimes(timeline)
        for load in distinct(load for life in lives for load in life.of(Load)):
            reason = next(filter(None, (_reason(load, life) for life in lives)), None)
            if reason is not None:
                message, help = reason
                yield self.finding(
                    load,
                    f"reducer `{timeline.name}` is {message}",
                    target,
                    help=help,
                    label="read",
                )


def _reason(load: Load, life: Lifetime) -> tuple[str, str] | None:
    if load not in life.events or _within(load, life, Store):
        return None
    closers = life.closers(load)
    for closer in closers:
        if closer.destination is not None:
            return (
                f"read after its finalize; its result is in `{closer.destination}`",
                f"read `{closer.destination}`",
            )
    if closers:
        return None
    if _within(load, life, Update):
        return (
            "read by its own contribution",
            "finalize first: a contribution may read only other, finalized reducers",
        )
    if not life.of(Finalize):
        return None
    return ("read before it is finalized", ReadBeforeFinalize.help)


def _within(load: Load, life: Lifetime, kind: type[Store] | type[Update]) -> bool:
    """Whether the statement that reads is an event of `kind` of the reducer itself."""
    return load.holder is not None and any(
        event.ident == load.holder for event in life.events if isinstance(event, kind)
    )
