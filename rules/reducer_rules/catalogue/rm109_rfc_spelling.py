"""RM109: the RFC's spelling where the shipped one is needed.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.release import NATIVE_V2
from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.spelling import update_call
from reducer_rules.timeline import Dialect, Event, Finalize, Timeline, Update, UpdateForm


class RfcSpelling(LegacyRule):
    code = "RM109"
    name = "rfc-spelling"
    summary = "the RFC's spelling, where the shipped one is needed"
    explanation = (
        "The RFC (tile-ai/tilelang#2897) writes `T.reducer_update(acc, i, value)`, opens the "
        "epoch at the allocation and may finalize in place. TileLang 0.1.14 shipped "
        "`T.reducer_update(acc[i], value)` with an explicit `T.reducer_init` and a destination "
        "(#2940), and takes nothing else. The RFC's spelling runs only with reducer_compat "
        "imported."
    )
    help = "use the shipped spelling, or import reducer_compat"
    example_target = Target(dialect=Dialect.SHIPPED)
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
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc, 0, A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((4, 2), "float32")
for i, j in T.Parallel(4, 2):
    T.reducer_update(acc, (i, j), A[i * 2 + j])
T.finalize_reducer(acc)
B[0] = acc[0, 0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if Dialect.RFC not in timeline.dialects() or not _shipped_needed(target):
            return
        if not timeline.inits:
            for alloc in timeline.allocs:
                yield self._at(alloc, timeline, target, "is opened by its allocation")
        for update in timeline.updates:
            if update.form is UpdateForm.RFC:
                yield self._at(update, timeline, target, "is updated in the RFC's spelling")
        for finalize in timeline.finalizes:
            if finalize.destination is None:
                yield self._at(finalize, timeline, target, "is finalized in place")

    def _at(self, event: Event, timeline: Timeline, target: Target, what: str) -> Finding:
        return self.finding(
            event,
            f"reducer `{timeline.name}` {what}, which TileLang did not ship",
            target,
            help=f"write `{_shipped(event, timeline.name)}`, or import reducer_compat",
            label="RFC spelling",
        )


def _shipped_needed(target: Target) -> bool:
    if target.dialect is not None:
        return target.dialect is Dialect.SHIPPED
    return not target.compat and target.release is not None and target.release >= NATIVE_V2


def _shipped(event: Event, name: str) -> str:
    if isinstance(event, Update):
        return update_call(name, event, Dialect.SHIPPED)
    if isinstance(event, Finalize):
        return f"T.finalize_reducer({name}, {name}_result)"
    return f"T.reducer_init({name})"
