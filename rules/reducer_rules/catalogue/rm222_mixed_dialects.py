"""RM222: v1 and v2 statements on one reducer.

https://github.com/tile-ai/tilelang/pull/3043
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.spelling import v1_events, v2_events
from reducer_rules.timeline import Alloc, Event, Finalize, Init, Timeline, Update


class MixedDialects(SemanticRule):
    code = "RM222"
    name = "mixed-dialects"
    summary = "v1 and v2 statements on one reducer"
    explanation = (
        "TileLang from 0.1.14 on takes a reducer's statements either all in v1 or all in v2: its "
        "compatibility shim leaves a reducer alone that any v2 statement touches, and the "
        "verifier then refuses the v1 ones (tile-ai/tilelang#3043). Which of the two was meant "
        "where they differ, as in the value of a fill, is not in the text."
    )
    help = "write all of its statements in v2"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
for i in T.Parallel(8):
    T.reducer_update(acc, 0, A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        old, new = v1_events(timeline), v2_events(timeline)
        if not old or not new:
            return
        earlier, later = sorted((old[0], new[0]), key=lambda event: event.ident)
        first, second = ("v1", "v2") if earlier is old[0] else ("v2", "v1")
        yield self.finding(
            later,
            f"reducer `{timeline.name}` mixes v1 and v2: {_describe(later)} is {second}, "
            f"{_describe(earlier)} on line {earlier.span.line} is {first}",
            target,
            label=second,
        )


def _describe(event: Event) -> str:
    if isinstance(event, Alloc):
        return "`replication=`"
    if isinstance(event, Init):
        return event.form.value
    if isinstance(event, Update):
        return event.form.value
    if isinstance(event, Finalize) and event.destination is not None:
        return "a finalize with a destination"
    return "an in-place finalize"
