"""RM215: an index, or a shape, is out of bounds.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import (
    Branch,
    Event,
    Index,
    Load,
    LoadForm,
    Loop,
    LoopKind,
    Store,
    Timeline,
    Update,
)


class IndexOutOfBounds(SemanticRule):
    code = "RM215"
    name = "index-out-of-bounds"
    summary = "an index, or a shape, is out of bounds"
    explanation = (
        "A reducer is held in registers, and no release checks an index at run time: TileLang "
        "0.1.13 and 0.1.15 lower an update of output 4 of 4 to `acc[4] = ...`, beside the array. "
        "An index down to minus the extent counts from the end, as they rewrite it. A parallel "
        "variable is judged by the static extent of its loop, unless a condition inside the loop "
        "may keep it in range."
    )
    help = "keep the index inside the shape"
    valid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[-1] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
""",
        """\
acc = T.alloc_reducer((4,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    if i < 4:
        acc[i] += A[i]
T.finalize_reducer(acc)
B[0] = acc[0]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[1] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((4,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[i] += A[i]
T.finalize_reducer(acc)
B[0] = acc[-5]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        yield from self._shapes(timeline, target)
        shape = timeline.shape
        if shape is None or any(extent is not None and extent <= 0 for extent in shape):
            return
        for event in timeline.events:
            for index, extent in zip(_indices(event, len(shape)), shape, strict=False):
                problem = None if extent is None else _problem(event, index, extent)
                if problem is not None:
                    yield self.finding(
                        event,
                        f"index `{index.text}` of reducer `{timeline.name}` {problem}",
                        target,
                        label="out of bounds",
                    )

    def _shapes(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for alloc in timeline.allocs:
            for extent in alloc.shape or ():
                if extent is not None and extent <= 0:
                    yield self.finding(
                        alloc,
                        f"reducer `{timeline.name}` has extent {extent}; every extent must be "
                        "at least 1",
                        target,
                        help="give every dimension a positive extent",
                        label="empty shape",
                    )
                    break


def _indices(event: Event, rank: int) -> tuple[Index, ...]:
    if not isinstance(event, Update | Load | Store) or len(event.indices) != rank:
        return ()
    if isinstance(event, Load) and event.form is LoadForm.WHOLE:
        return ()
    return event.indices


def _problem(event: Event, index: Index, extent: int) -> str | None:
    if index.value is not None:
        inside = -extent <= index.value < extent
        return None if inside else f"is out of bounds for extent {extent}"
    reach = None if index.variable is None else _reach(event, index.variable)
    if reach is None or reach <= extent:
        return None
    return f"goes up to {reach - 1}, out of bounds for extent {extent}"


def _reach(event: Event, variable: str) -> int | None:
    """The static extent of the parallel loop over `variable`, where nothing narrows it."""
    for frame in reversed(event.context):
        if isinstance(frame, Branch):
            return None
        if isinstance(frame, Loop) and variable in frame.variables:
            position = frame.variables.index(variable)
            if frame.kind is not LoopKind.PARALLEL or position >= len(frame.extents):
                return None
            return frame.extents[position]
    return None
