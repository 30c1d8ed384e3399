"""RM207: nothing closes the epoch.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes, precedes, repeats
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Event, Finalize, Init, Timeline


class MissingFinalize(SemanticRule):
    code = "RM207"
    name = "missing-finalize"
    summary = "nothing closes the epoch of a reducer"
    explanation = (
        "Without a finalize the partials of the threads are never combined: v1 code that reads "
        "the reducer gets one thread's share. The RFC (tile-ai/tilelang#2897) rejects it, and so "
        'does TileLang from 0.1.14 on ("initialized but never finalized").'
    )
    help = "close the epoch with T.finalize_reducer after the last update"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_fragment((1,), "float32")
T.clear(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        name = timeline.name
        for opener in distinct(e for life in lifetimes(timeline) for e in _unclosed(life)):
            yield self.finding(
                opener,
                f"reducer `{name}` is never finalized",
                target,
                help=f"add `T.finalize_reducer({name}, result)` after the last update, and read "
                "`result`",
                label="opened here",
            )


def _unclosed(life: Lifetime) -> Iterator[Event]:
    finalizes = life.of(Finalize)
    if any(life.opener(finalize) is None for finalize in finalizes):
        return
    repeated = {later.ident for _, later in repeats(life.of(Init))}
    for opener in life.openers:
        closed = any(precedes(opener, finalize) for finalize in finalizes)
        if not closed and opener.ident not in repeated:
            yield opener
