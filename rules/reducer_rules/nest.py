"""What the RM3xx rules ask of a timeline: the parallel nest of an update, threads and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import NamedTuple

from reducer_rules.timeline import Event, Loop, LoopKind, Timeline, Update

#: Loops that TileLang counts as part of the nest when they stand inside a parallel loop.
_SERIAL = frozenset({LoopKind.SERIAL, LoopKind.UNROLL})


class Nest(NamedTuple):
    """The extents of a parallel nest around an update, and of the serial loops inside it."""

    parallel: tuple[int, ...]
    serial: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many iterations are dealt to the threads."""
        return prod(self.parallel)


def nest_of(update: Update) -> Nest | None:
    """The nest around `update`, or None outside `T.Parallel` and where an extent is not static."""
    loops = update.loops
    kinds = [loop.kind for loop in loops]
    if LoopKind.PARALLEL not in kinds:
        return None
    inner = loops[kinds.index(LoopKind.PARALLEL) :]
    parallel = _extents(loop for loop in inner if loop.kind is LoopKind.PARALLEL)
    rest = [loop for loop in inner if loop.kind is not LoopKind.PARALLEL]
    serial = _extents(rest)
    if parallel is None or serial is None or any(loop.kind not in _SERIAL for loop in rest):
        return None
    return Nest(parallel, serial)


def _extents(loops: Iterable[Loop]) -> tuple[int, ...] | None:
    found: list[int] = []
    for loop in loops:
        known = [extent for extent in loop.extents if extent is not None and extent > 0]
        if not known or len(known) < len(loop.extents):
            return None
        found += known
    return tuple(found)


def pipelines(event: Event) -> Iterator[Loop]:
    """The pipelined loops around `event` that may have a stage, outermost first."""
    return (loop for loop in event.loops if loop.kind is LoopKind.PIPELINED and loop.stages != 0)


def warp_specialized(event: Event) -> Loop | None:
    """The outermost loop around `event` that may be warp-specialized."""
    return next((loop for loop in pipelines(event) if loop.staged), None)


def divided(event: Event) -> Loop | None:
    """The same for native v2, which needs a copy by TMA in the loop's own body."""
    loop = warp_specialized(event)
    return loop if loop is not None and loop.by_tma else None


def fully_replicated(timeline: Timeline) -> bool:
    """Whether every allocation says `replication="all"`."""
    if not timeline.allocs:
        return False
    return all((alloc.replication or "").strip("\"'") == "all" for alloc in timeline.allocs)


def outputs(timeline: Timeline) -> int | None:
    """How many logical outputs the reducer has, None where its shape is not static."""
    shape = timeline.shape
    if shape is None:
        return None
    known = [extent for extent in shape if extent is not None]
    return prod(known) if len(known) == len(shape) else None


def is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
