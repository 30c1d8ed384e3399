"""How native v2 keeps the partials of a reducer: which sites it plans alone, and which it cannot.

TileLang 0.1.14 and 0.1.15 derive a plan from the layout of each loop of updates. A narrow one
keeps in a thread the outputs of its own iterations, and combines the threads that share an output.
It needs indices that are variables of the loop, one for each whole axis of the outputs, and all
loops to agree. Else the plan is wide: a partial of every output in every thread, which are
all combined. Nests over memory whose extents are powers of two are made one loop before, and then
no index is a variable any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from reducer_rules.nest import is_power_of_two, nest_of
from reducer_rules.replication import combines_native
from reducer_rules.timeline import Init, LoopKind, Operands, Timeline, Update

#: Elements, at most, that a thread takes at once: 16 bytes.
_VECTOR = 16
#: What stands for the place of an output on an axis of one.
_ONLY = ""


def parallel_extents(update: Update) -> dict[str, int | None]:
    """The parallel variables around an update, outermost first."""
    return {
        name: extent
        for loop in update.loops
        if loop.kind is LoopKind.PARALLEL
        for name, extent in zip(loop.variables, loop.extents, strict=False)
    }


def kept(update: Update, shape: tuple[int | None, ...] | None) -> tuple[str, ...] | None:
    """The variables that number the outputs, in the order of their axes.

    None unless each numbers a whole axis, so that no site of these indices is planned narrow. An
    axis of one has an empty name, for whatever its index is, it is 0.
    """
    extents = parallel_extents(update)
    if shape is None or len(shape) != len(update.indices):
        return None
    found: list[str] = []
    for index, extent in zip(update.indices, shape, strict=True):
        name = index.variable or ""
        if extent == 1:
            found.append(_ONLY)
        elif extent is None or extents.get(name) != extent or name in found:
            return None
        else:
            found.append(name)
    return tuple(found)


def spreads(update: Update) -> tuple[tuple[str, ...], ...]:
    """The variables of each fragment whose elements may decide which thread runs an iteration.

    With fragments of fewer axes than the nest, the iterations of the nest may decide it, too.
    """
    nest = (tuple(parallel_extents(update)),) if update.part_tiles else ()
    whole = (update.tile,) if update.tile else nest
    return (*whole, *update.part_tiles)


def elements(axes: Iterable[str], update: Update) -> int | None:
    """How many elements a fragment has that these variables number; None where not static."""
    extents = parallel_extents(update)
    known = [extents.get(name) or 0 for name in axes]
    return prod(known) if all(known) else None


def may_repeat(update: Update, threads: int | None) -> bool:
    """Whether several threads may run an iteration: a fragment with fewer elements than threads."""
    sizes = [elements(axes, update) for axes in spreads(update)]
    return threads is not None and any(size is not None and size < threads for size in sizes)


def epoch_of(init: Init, timeline: Timeline) -> list[Update]:
    """The updates between an opening and the next, in the order of the text."""
    ends = [later.ident for later in timeline.inits if later.ident > init.ident]
    end = min(ends, default=math.inf)
    return [update for update in timeline.updates if init.ident < update.ident < end]


class Spread(NamedTuple):
    """The extents of a fragment's axes, and which of them are reduced; axes of 1 left out."""

    extents: tuple[int, ...]
    reduced: tuple[bool, ...]

    @property
    def combined(self) -> int:
        """How many contributions each output has, of one turn of the loops around the nest."""
        return prod(n for n, gone in zip(self.extents, self.reduced, strict=True) if gone)


def narrow_spreads(timeline: Timeline) -> tuple[Spread, ...]:
    """What may decide the narrow plan of a reducer of fragments; nothing where it has none.

    Sites that differ make TileLang fall back to a plan that combines all threads.
    """
    plans = {_reduced(update, timeline.shape) for update in timeline.updates}
    return plans.pop() if len(plans) == 1 else ()


def _reduced(update: Update, shape: tuple[int | None, ...] | None) -> tuple[Spread, ...]:
    numbering = kept(update, shape)
    if numbering is None:
        return ()
    extents = parallel_extents(update)
    found = []
    for tile in spreads(update):
        if all(extents.get(name) is not None for name in tile):
            axes = [(name, extents[name] or 0) for name in tile if extents[name] != 1]
            reduced = tuple(name not in numbering for name, _ in axes)
            found.append(Spread(tuple(size for _, size in axes), reduced))
    return tuple(found)


def alike(updates: Iterable[Update], timeline: Timeline) -> bool:
    """Whether updates may share one narrow plan: their loops, indices and operands are alike."""
    found = {
        (_parallel(update), kept(update, timeline.shape), update.operands) for update in updates
    }
    return len(found) == 1 and all(numbering is not None for _, numbering, _ in found)


def surely_wide(update: Update, timeline: Timeline) -> bool:
    """Whether the plan of a reducer is wide because of this update, whatever the others are."""
    if kept(update, timeline.shape) is None:
        return True
    sizes = list(parallel_extents(update).values())
    idle = timeline.kernel.threads is not None and _leaves_idle(sizes, timeline.kernel.threads)
    return update.operands is Operands.MEMORY and all(sizes) and (_is_fused(sizes) or idle)


def combines_all(update: Update, timeline: Timeline) -> bool:
    """Whether the finalize surely combines all threads because of this update.

    Beside a plan that is wide for other reasons it is one whose narrow collective is none.
    """
    if surely_wide(update, timeline):
        return True
    nest, threads = nest_of(update), timeline.kernel.threads
    in_order = update.operands is Operands.MEMORY or update.tile == tuple(parallel_extents(update))
    if not in_order or update.part_tiles or nest is None or nest.serial or threads is None:
        return False
    if nest.size < threads:
        return _fills_no_block(nest.parallel, threads)
    return not combines_native(threads, nest.parallel, reduced_loops(update, timeline))


def reduced_loops(update: Update, timeline: Timeline) -> tuple[bool, ...]:
    """Which parallel loops around an update number no output, outermost first."""
    numbering = kept(update, timeline.shape) or ()
    return tuple(name not in numbering for name in parallel_extents(update))


def _parallel(update: Update) -> tuple[tuple[str | int | None, ...], ...]:
    """The variables and extents of the parallel loops around an update."""
    loops = (loop for loop in update.loops if loop.kind is LoopKind.PARALLEL)
    return tuple((*loop.variables, *loop.extents) for loop in loops)


def may_be_wide(updates: Sequence[Update], timeline: Timeline) -> bool:
    """Whether the plan for updates of one epoch is wide, or cannot be told to be narrow.

    Fragments that other operations lay out are taken to allow what the indices allow.
    """
    threads = timeline.kernel.threads
    plans = {_narrow(update, timeline.shape, threads) for update in updates}
    return len(plans) > 1 or None in plans


_Narrow = tuple[int, tuple[str, ...]]


def _narrow(
    update: Update, shape: tuple[int | None, ...] | None, threads: int | None
) -> _Narrow | None:
    """The loop and the kept variables of an update, alike for updates that surely agree.

    None where it may have no narrow plan.
    """
    found = kept(update, shape)
    if found is None or not _is_zero_where_only(update, found):
        return None
    extents = parallel_extents(update)
    plan = (_outermost(update), found)
    if _fills_no_block(extents.values(), threads):
        return None
    if update.operands is Operands.MEMORY:
        fused = len(extents) > 1 and all(
            size and is_power_of_two(size) for size in extents.values()
        )
        wide = fused or _leaves_idle(extents.values(), threads)
        return None if wide or _one_takes_all(tuple(extents), found, update, threads) else plan
    if update.tile and not update.part_tiles:
        return None if _one_takes_all(update.tile, found, update, threads) else plan
    return plan


def _is_zero_where_only(update: Update, found: tuple[str, ...]) -> bool:
    """Whether TileLang surely knows of each index of an axis of one that it is 0."""
    indices = zip(found, update.indices, strict=True)
    return all(name != _ONLY or index.value == 0 for name, index in indices)


def _outermost(update: Update) -> int:
    """The ident of the outermost parallel loop around an update."""
    return next((loop.ident for loop in update.loops if loop.kind is LoopKind.PARALLEL), -1)


def _is_fused(sizes: Sequence[int | None]) -> bool:
    """Whether TileLang makes one loop of a nest over memory."""
    return len(sizes) > 1 and all(is_power_of_two(size or 0) for size in sizes)


def _fills_no_block(sizes: Iterable[int | None], threads: int | None) -> bool:
    """Whether iterations fewer than the threads do not divide them, so that some have no copy."""
    total = prod(size or 0 for size in sizes)
    return threads is not None and 0 < total < threads and threads % total != 0


def _leaves_idle(sizes: Iterable[int | None], threads: int | None) -> bool:
    """Whether there may be fewer iterations than threads."""
    known = [size or 0 for size in sizes]
    return threads is None or prod(known) < threads


def _one_takes_all(
    axes: Sequence[str], found: tuple[str, ...], update: Update, threads: int | None
) -> bool:
    """Whether the threads may number nothing but positions on one reduced axis.

    Elements are dealt to the threads in the order of the axes, some at once; how many depends on
    dtypes and alignments. Where one axis takes all threads, every one has to do with each output.
    """
    extents = parallel_extents(update)
    sizes = [extents.get(name) or 0 for name in axes]
    if threads is None or not all(sizes):
        return update.operands is Operands.MEMORY
    widest = min(_VECTOR, prod(sizes) // threads)
    vectors = [1 << bit for bit in range(widest.bit_length())]
    below = 1
    for name, size in zip(reversed(axes), reversed(sizes), strict=True):
        above = below * size
        if name not in found and any(
            below <= vector and above >= threads * vector for vector in vectors
        ):
            return True
        below = above
    return False
