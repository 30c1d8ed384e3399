"""Narrow a reducer whose loops TileLang laid out itself, once their layouts are known.

Such a reducer was carried through layout inference with a partial of every output in every
thread. Where a bit of the output's number is a bit of the thread's number in every iteration
of every site, a thread sees only the outputs that agree with it in that bit:

    for i, j in T.Parallel(64, 64), thread = i % 32 * 4 + j // 16:

        bits of i 0 1 2 3 4 are bits 2 3 4 5 6 of the thread; bit 5 of i is free
        -> 2 partials, and a collective over bits 0 and 1 of the thread

Proven by enumeration of all iterations; what is not proven stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reducer_compat import marker, monoids, tree
from reducer_compat.adapter import adapter
from reducer_compat.choice import PlanChoice, PlanKind, remember_plan
from reducer_compat.draft import statements
from reducer_compat.passes import build
from reducer_compat.passes.bits import Pairs, moved
from reducer_compat.passes.evaluate import Array, evaluate
from reducer_compat.passes.guard import owner
from reducer_compat.passes.halving import combined
from reducer_compat.passes.plan import LANES
from reducer_compat.passes.sites import LAYOUT
from reducer_rules.monoid import Op
from reducer_rules.nest import is_power_of_two

#: On the statements that hand partials over, and on the loops that combine what was handed over.
HANDOVER = "reducer_compat.handover"
WRITERS = "reducer_compat.writers"
#: Iterations of one site that are enumerated, at most.
MOST = 1 << 20
#: Bits of a lane's number.
_LANE_BITS = LANES.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Handover:
    """The statements that hand partials over, as `collective` marked them."""

    op: Op
    partial: Any
    exchange: Any
    outputs: int
    threads: int
    thread: Any


@dataclass(frozen=True, slots=True)
class Projection:
    """Which bits of an output's number are fixed by which bits of the thread's, and which not.

    `partial` is the array of the outputs that one thread sees.
    """

    handover: Handover
    fixed: Pairs
    free: tuple[int, ...]
    partial: Any

    @property
    def members(self) -> list[int]:
        """Bits of the thread's number over which the collective runs."""
        taken = {bit for _, bit in self.fixed}
        return [bit for bit in range(_bits(self.handover.threads)) if bit not in taken]

    @property
    def writers(self) -> int:
        """Warps that hand over a value of the same output."""
        return int(2 ** sum(bit >= _LANE_BITS for bit in self.members))

    @property
    def slots(self) -> int:
        """Partials of one thread."""
        return 1 << len(self.free)

    def slot(self, output: Any) -> Any:
        """The partial of an output in the threads that see it."""
        return moved(output, [(bit, place) for place, bit in enumerate(self.free)])

    def place(self, output: Any) -> Any:
        """Where an output is handed over: the outputs of one thread side by side, where all fit."""
        if not is_power_of_two(self.handover.outputs):
            return output
        order = [*self.free, *(bit for bit, _ in self.fixed)]
        return moved(output, [(bit, place) for place, bit in enumerate(order)])


def marked(op: Op, partial: Any, exchange: Any, sizes: tuple[int, int], thread: Any) -> Any:
    """The value of a `HANDOVER` attribute; `sizes` are outputs and threads."""
    parts = [build.integer(size) for size in sizes]
    return marker.build(
        "handover", str(op), marker.origin(partial), marker.origin(exchange), *parts, thread
    )


def writers(count: int, write: Callable[[Any], Any]) -> Any:
    """Combine what `count` writers handed over; `write` stores the part of one of them, and a seed.

    A mark, which becomes one store when `project` knows how many writers there are.
    """
    var = adapter().tir.Var("w", "int32")
    loop = build.unrolled_over(var, count, write(var))
    return adapter().for_loop(loop, annotations={**dict(loop.annotations.items()), WRITERS: 1})


def project(func: Any) -> Any:
    """The kernel with every reducer narrowed that can be, and without the marks of this pass."""
    handovers = [hand for stmt in statements(func) if (hand := _handover(stmt))]
    if not handovers:
        return func
    updates = _updates(func.body)
    judged = [(hand, _projection(hand, updates)) for hand in handovers]
    found = [one for _, one in judged if isinstance(one, Projection)]
    kernel = str(func.attrs["global_symbol"])
    for hand, one in judged:
        remember_plan(_choice(kernel, hand, one))
    exchanges = [(hand, _of(found, hand.partial)) for hand in handovers]
    return tree.rewritten(func, lambda stmt: _rewritten(stmt, found, exchanges))


def _choice(kernel: str, hand: Handover, found: Projection | str) -> PlanChoice:
    reducer = str(hand.partial.name).removesuffix("_partial")
    if isinstance(found, str):
        sizes = (hand.outputs, hand.threads)
        return PlanChoice(kernel, reducer, PlanKind.WIDE, *sizes, found)
    return PlanChoice(kernel, reducer, PlanKind.LAYOUT, found.slots, 1 << len(found.members))


def _handover(stmt: Any) -> Handover | None:
    if type(stmt) is not adapter().tir.AttrStmt or stmt.attr_key != HANDOVER:
        return None
    args = marker.call_marker(stmt.value).args  # type: ignore[union-attr]
    return Handover(
        Op(str(args[0].value)),
        args[1].buffer,
        args[2].buffer,
        int(args[3].value),
        int(args[4].value),
        args[5],
    )


# What the updates say


@dataclass(frozen=True, slots=True)
class _Update:
    """An update that waited: its partial, and the output and owner of all its iterations."""

    partial: Any
    outputs: Array | None
    owners: Array | None


def _updates(body: Any) -> list[_Update]:
    """Every waiting update of the kernel; without arrays where they cannot be enumerated."""
    found: list[_Update] = []

    def visit(stmt: Any, loops: tuple[Any, ...], runner: Any) -> None:
        mark = marker.read(stmt)
        if mark is not None and mark.kind == "partial":
            found.append(_enumerated(mark, loops, runner))
        if type(stmt) is adapter().tir.For:
            runner = _owner_of(stmt) if runner is None else runner
            loops = loops if runner is None else (*loops, stmt)
        for child in tree.children(stmt):
            visit(child, loops, runner)

    visit(body, (), None)
    return found


def _owner_of(loop: Any) -> Any:
    return owner(loop, loop.annotations[LAYOUT]) if LAYOUT in loop.annotations else None


def _enumerated(mark: marker.Marker, loops: tuple[Any, ...], runner: Any) -> _Update:
    partial = mark.args[1].buffer
    bounds = [(tree.constant(loop.min), tree.constant(loop.extent)) for loop in loops]
    known = [(start, extent) for start, extent in bounds if start is not None and extent]
    size = np.prod([extent for _, extent in known], dtype=np.int64)
    if runner is None or len(known) < len(loops) or size > MOST:
        return _Update(partial, None, None)
    grid = np.indices([extent for _, extent in known]).reshape(len(known), -1)
    values = [line + start for line, (start, _) in zip(grid, known, strict=True)]
    env = [(loop.loop_var, value) for loop, value in zip(loops, values, strict=True)]
    try:
        outputs, owners = evaluate(mark.args[2], env), evaluate(runner, env)
    except LookupError:
        return _Update(partial, None, None)
    return _Update(partial, *np.broadcast_arrays(outputs, owners, values[0])[:2])


def _projection(handover: Handover, updates: list[_Update]) -> Projection | str:
    """How a reducer is narrowed, or why it is not."""
    mine = [u for u in updates if u.partial.data.same_as(handover.partial.data)]
    arrays = [(u.outputs, u.owners) for u in mine if u.outputs is not None and u.owners is not None]
    if not mine:
        return "layout inference left no update of it"
    if len(arrays) < len(mine):
        return "the outputs of an update cannot be listed: they are many, or depend on data"
    if not is_power_of_two(handover.threads):
        return f"{handover.threads} threads are no power of two"
    outputs = np.concatenate([array for array, _ in arrays])
    owners = np.concatenate([array for _, array in arrays])
    fixed: list[tuple[int, int]] = []
    for bit in range(_bits(handover.outputs)):
        wanted = outputs >> bit & 1
        taken = {place for _, place in fixed}
        places = (b for b in range(_bits(handover.threads)) if b not in taken)
        place = next((b for b in places if np.array_equal(owners >> b & 1, wanted)), None)
        if place is not None:
            fixed.append((bit, place))
    free = tuple(b for b in range(_bits(handover.outputs)) if b not in dict(fixed))
    if not fixed:
        return "in the layout that TileLang chose any thread may see any output"
    partial = build.buffer(
        str(handover.partial.name), 1 << len(free), str(handover.partial.dtype), "local"
    )
    return Projection(handover, tuple(fixed), free, partial)


def _bits(count: int) -> int:
    return (count - 1).bit_length()


# What becomes of the code

#: Every handover of the kernel, with its projection where there is one.
Exchanges = list[tuple[Handover, Projection | None]]


def _rewritten(stmt: Any, found: list[Projection], exchanges: Exchanges) -> Any:
    tir = adapter().tir
    handover = _handover(stmt)
    if handover is not None:
        mine = _of(found, handover.partial)
        if mine is None:
            return tree.transform(stmt.body, lambda inner: _rewritten(inner, found, exchanges))
        return handed_over(replace(mine, handover=handover))
    if type(stmt) is adapter().block:
        return _allocating(stmt, found, exchanges)
    if type(stmt) is tir.For:
        if WRITERS in stmt.annotations:
            return _writers(stmt, exchanges)
        return _opening(stmt, found)
    mark = marker.read(stmt)
    if mark is not None and mark.kind == "partial":
        mine = _of(found, mark.args[1].buffer)
        if mine is not None:
            slot, partial = mine.slot(mark.args[2]), marker.origin(mine.partial)
            args = (mark.args[0], partial, slot, *mark.args[3:])
            return tir.Evaluate(marker.build("partial", *args))
    return None


def _allocating(block: Any, found: list[Projection], exchanges: Exchanges) -> Any:
    """A block with the arrays that are left; None where it allocates none of them."""
    whole = [(buffer, _of(found, buffer)) for buffer in block.alloc_buffers]
    if not any(mine for _, mine in whole):
        return None
    buffers = [buffer if mine is None else mine.partial for buffer, mine in whole]
    body = tree.transform(block.body, lambda inner: _rewritten(inner, found, exchanges))
    return adapter().block_copy(block, body=body, alloc_buffers=buffers)


def _opening(loop: Any, found: list[Projection]) -> Any:
    """The loop that sets all partials to the identity, over those that are left."""
    store = loop.body
    if type(store) is not adapter().tir.BufferStore or marker.read(store) is not None:
        return None
    mine = _of(found, store.buffer)
    if mine is None:
        return None
    return build.unrolled(mine.slots, lambda slot: build.store(mine.partial, store.value, slot))


def _of(found: list[Projection], partial: Any) -> Projection | None:
    return next((p for p in found if p.handover.partial.data.same_as(partial.data)), None)


def _writers(loop: Any, exchanges: Exchanges) -> Any:
    """One store of what all writers of an output handed over."""
    store, var = loop.body, loop.loop_var
    hand, mine, handed = next(
        (hand, mine, load)
        for load in tree.loads(store.value)
        for hand, mine in exchanges
        if hand.exchange.data.same_as(load.buffer.data)
    )
    seed = [load for load in tree.loads(store.value) if not load.same_as(handed)]
    output = adapter().simplify(_at(handed.indices[0], var, 0))
    count, place = (loop.extent, output) if mine is None else (mine.writers, mine.place(output))
    parts = [
        build.load(handed.buffer, adapter().simplify(place + writer * hand.outputs))
        for writer in range(tree.constant(count) or 1)
    ]
    return build.store(store.buffer, monoids.combine_all(hand.op, [*seed, *parts]), *store.indices)


def _at(index: Any, var: Any, value: int) -> Any:
    """An index where a variable has a value."""
    return build.substitute(adapter().tir.Evaluate(index), {var: build.integer(value)}).value


def handed_over(projection: Projection) -> Any:
    """Combine over the members in one warp, then one write for each warp and output."""
    hand, members, partial = projection.handover, projection.members, projection.partial
    lanes = [bit for bit in members if bit < _LANE_BITS]
    warps = [bit for bit in members if bit >= _LANE_BITS]
    totals = combined(hand.op, partial, projection.slots, lanes, hand.thread)

    def one(slot: Any) -> Any:
        output = moved(adapter().simplify(totals.first + slot), list(enumerate(projection.free)))
        output += moved(hand.thread, [(bit, place) for place, bit in projection.fixed])
        writer = moved(hand.thread, [(bit, place) for place, bit in enumerate(warps)])
        place = writer * hand.outputs + projection.place(output)
        conditions = list(totals.only)
        if not is_power_of_two(hand.outputs):
            conditions.append(output < hand.outputs)
        return build.guarded(
            conditions, build.store(hand.exchange, build.load(partial, slot), place)
        )

    return tree.sequence([totals.code, build.unrolled(totals.held, one)])
