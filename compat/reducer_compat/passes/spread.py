"""Spread the iterations of a `T.Parallel` loop over the threads.

In flat order, for the baseline:          by rows, each thread a block of neighbours at a time:

    for s in serial(ceildiv(M * N, n)):       for turn in unroll(ceildiv(M, rows)):
        flat = s * n + tx                         i = turn * rows + row
        if flat < M * N:                          for s in serial(N // (width * group)):
            ...                                       for v in unroll(width):
                                                          j = (s * group + member) * width + v
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes import build
from reducer_compat.passes.collect import parallel_nest
from reducer_compat.passes.plan import Plan
from reducer_compat.passes.sites import Rows, Site, plain_body
from reducer_compat.passes.stage import Lane, replaced, staged

#: What becomes of an update: its marker and, by rows, the partial of its output.
Accumulate = Callable[[marker.Marker, Any], Any]
#: Turns that are written out, so that their loads can be in flight together.
UNROLLED = 16


@dataclass(frozen=True, slots=True)
class Spread:
    """A loop in code, and the registers it needs."""

    body: Any
    registers: tuple[Any, ...] = ()


def flat(site: Site, thread: Any, threads: int, accumulate: Accumulate) -> Spread:
    """The loop in flat order: iteration `k` in thread ``k % threads``."""
    nest, body = parallel_nest(site.loop)
    extents = [loop.extent for loop in nest]

    def inside(position: Any) -> Any:
        values = build.unflat(position, extents)
        mapping = {
            loop.loop_var: loop.min + value for loop, value in zip(nest, values, strict=True)
        }
        return _combined(build.substitute(body, mapping), accumulate, None)

    return Spread(build.spread(build.product(extents), thread, threads, inside))


def by_rows(site: Site, plan: Plan, rows: Rows, accumulate: Accumulate) -> Spread:
    """The loop in the rows of a plan."""
    shape = plan.shape
    block = _Block(site, plan, rows, shape.width(plan.outputs, rows), accumulate)
    chunks, turns = shape.chunks(plan.outputs), shape.turns(plan.outputs)
    pieces = -(-rows.span // block.width)
    registers: list[Any] = []

    def turn(number: Any) -> Any:
        chunk = number * shape.rows + plan.row
        inner = build.spread(
            pieces,
            plan.member,
            shape.group,
            lambda piece: block.code(number, chunk, piece, registers),
            unroll=UNROLLED,
        )
        return build.guarded([chunk < chunks] if turns * shape.rows > chunks else [], inner)

    return Spread(build.unrolled(turns, turn), tuple(registers))


@dataclass(frozen=True, slots=True)
class _Block:
    """The iterations that a thread takes at once: `pack` outputs, `width` of each."""

    site: Site
    plan: Plan
    rows: Rows
    width: int
    accumulate: Accumulate

    def code(self, turn: Any, chunk: Any, piece: Any, registers: list[Any]) -> Any:
        """One block, its loads first; the registers for them are added to `registers`."""
        nest, body = parallel_nest(self.site.loop)
        lanes = self._lanes()
        places = self._start(chunk, piece)
        for axis, lane in lanes.items():
            places[axis] = places[axis] + lane.var
        mapping = {loop.loop_var: loop.min + places[k] for k, loop in enumerate(nest)}
        moved = build.substitute(body, mapping)
        stages = staged(_values(moved), list(lanes.values())) if plain_body(self.site.loop) else []
        registers += [stage.buffer for stage in stages]
        code = _combined(replaced(moved, stages), self.accumulate, self._slot(turn, lanes))
        for lane in reversed(lanes.values()):
            code = build.unrolled_over(lane.var, lane.extent, code)
        return tree.sequence([*(stage.fill for stage in stages), code])

    def _lanes(self) -> dict[int, Lane]:
        """The loops of the block, by the loop of the nest that they run along."""
        extents = {}
        pack = self.plan.shape.pack
        if pack > 1 and pack == self.plan.outputs:
            extents = {axis: self.rows.extents[axis] for axis in self.rows.axes}
        elif pack > 1:
            extents = {self.rows.axes[-1]: pack}
        if self.width > 1:
            extents[len(self.rows.extents) - 1] = self.width
        var = adapter().tir.Var
        return {axis: Lane(var("v", "int32"), extent) for axis, extent in extents.items()}

    def _start(self, chunk: Any, piece: Any) -> dict[int, Any]:
        """Where the block starts, for each loop of the nest."""
        rows, pack = self.rows, self.plan.shape.pack
        outputs = [rows.extents[axis] for axis in rows.axes]
        if pack > 1 and pack == self.plan.outputs:
            first = [build.integer(0) for _ in outputs]
        else:
            first = build.unflat(chunk * pack, outputs)
        rest = build.unflat(piece * self.width, [rows.extents[axis] for axis in rows.rest])
        return {
            **dict(zip(rows.axes, first, strict=True)),
            **dict(zip(rows.rest, rest, strict=True)),
        }

    def _slot(self, turn: Any, lanes: dict[int, Lane]) -> Any:
        packed = [axis for axis in self.rows.axes if axis in lanes]
        within = build.flat(
            [lanes[axis].var for axis in packed], [lanes[axis].extent for axis in packed]
        )
        return turn * self.plan.shape.pack + within


def _values(body: Any) -> list[Any]:
    """What the updates of a body contribute."""
    markers = [marker.read(stmt) for stmt in tree.walk(body)]
    return [found.args[4] for found in markers if found is not None and found.kind == "update"]


def _combined(body: Any, accumulate: Accumulate, slot: Any) -> Any:
    """A body with its updates turned into code."""

    def enter(stmt: Any) -> Any:
        found = marker.read(stmt)
        return None if found is None or found.kind != "update" else accumulate(found, slot)

    return tree.transform(body, enter)


def layout(site: Site, plan: Plan, rows: Rows) -> Any:
    """The layout under which TileLang itself spreads the loop by the rows of a plan."""
    shape, width = plan.shape, plan.shape.width(plan.outputs, rows)
    extents = list(rows.extents)

    def places(variables: tuple[Any, ...]) -> tuple[Any, Any]:
        output = build.flat([variables[k] for k in rows.axes], [extents[k] for k in rows.axes])
        rest = build.flat([variables[k] for k in rows.rest], [extents[k] for k in rows.rest])
        return output, rest

    def thread(*variables: Any) -> Any:
        output, rest = places(variables)
        row = output // shape.pack % shape.rows
        return shape.thread(row, rest // width % shape.group)

    def index(*variables: Any) -> Any:
        output, rest = places(variables)
        within = rest // (width * shape.group) * width + rest % width
        slot = shape.slot(output)
        if shape.pack > 1:
            return within * shape.slots(plan.outputs) + slot
        return slot * (rows.span // shape.group) + within

    return adapter().fragment(extents, thread, index)
