"""Decide how a reducer keeps its partials, and who takes part.

Where every site of a reducer visits an output within one row of threads, the threads share the
outputs by rows (`shape`). Else every thread has a partial of every output, and any iteration
may run in any thread: the baseline, which is always possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from reducer_compat import monoids
from reducer_compat.choice import PlanChoice, PlanKind, remember_plan
from reducer_compat.errors import ReducerError
from reducer_compat.passes.collect import Collected, Reducer
from reducer_compat.passes.halving import padded
from reducer_compat.passes.reasons import asked_for, no_rows, not_open
from reducer_compat.passes.shape import Shape, best
from reducer_compat.passes.sites import Rows, Site, rows_of

#: Bytes of shared memory one exchange may take; more outputs are exchanged in turns.
EXCHANGE_LIMIT = 16 * 1024
#: Lanes of one shuffle. A wavefront of 64 shuffles in halves.
LANES = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """The storage of one reducer.

    Attributes:
        thread: the variable of the participants, counted from 0.
        shape: how they share the outputs.
        rowwise: whether every site was proven to keep to the rows of the shape.
        open: whether the layouts of its loops, once known, may still narrow the plan.
        lanes: how many members of a row combine by shuffles before the exchange.
        outputs: logical outputs.
        chunk: outputs exchanged through shared memory at once.
    """

    reducer: Reducer
    thread: Any
    shape: Shape
    rowwise: bool
    open: bool
    lanes: int
    outputs: int
    chunk: int

    @property
    def threads(self) -> int:
        return self.shape.threads

    @property
    def slots(self) -> int:
        """Partials in each thread."""
        return self.shape.slots(self.outputs)

    @property
    def kept(self) -> int:
        """Partials in each thread with those that only make them even, for the collective."""
        return padded(self.slots, self.lanes)

    @property
    def lane_bits(self) -> range:
        """The bits of the thread's number by which the lanes of one row differ."""
        first = self.shape.stride.bit_length() - 1
        return range(first, first + self.lanes.bit_length() - 1)

    @property
    def writers(self) -> int:
        """Parts of an output that go through the exchange."""
        return self.shape.group // self.lanes

    @property
    def row(self) -> Any:
        return self.shape.row(self.thread)

    @property
    def member(self) -> Any:
        return self.shape.member(self.thread)


def forced_wide() -> bool:
    """Whether the environment, this compilation's pass config, or a failed count ask for it."""
    return bool(asked_for())


def plan(collected: Collected, sites: tuple[Site, ...]) -> tuple[Plan, ...]:
    """A plan for each reducer.

    Raises:
        ReducerError: a shape is symbolic.
    """
    outputs = [_outputs(collected, reducer) for reducer in collected.reducers]
    shapes = _shapes(collected, sites, outputs)
    found = tuple(
        _plan_one(collected, reducer, sites, count, shape)
        for reducer, count, shape in zip(collected.reducers, outputs, shapes, strict=True)
    )
    for one in found:
        if not one.open:
            remember_plan(_choice(collected, one, sites))
    return found


def _choice(collected: Collected, found: Plan, sites: tuple[Site, ...]) -> PlanChoice:
    """What there is to say of a plan that is final."""
    reducer, sizes = found.reducer, (found.slots, found.shape.group)
    if found.rowwise:
        return PlanChoice(collected.kernel, reducer.name, PlanKind.ROWS, *sizes)
    reason = asked_for() or no_rows(reducer, sites)
    if not reason:
        reason = "no way of sharing comes out even, or a loop updates reducers that share otherwise"
    elif not asked_for() and all(site.needs_layout for site in _sites_of(reducer, sites)):
        closed = not_open(reducer, found.threads, found.lanes, found.outputs, found.chunk)
        reason = f"{reason}, and {closed}"
    return PlanChoice(collected.kernel, reducer.name, PlanKind.WIDE, *sizes, reason)


def _plan_one(
    collected: Collected,
    reducer: Reducer,
    sites: tuple[Site, ...],
    outputs: int,
    chosen: Shape | None,
) -> Plan:
    shape = chosen or Shape(collected.threads, collected.threads)
    lanes = _lanes(reducer, shape)
    itemsize = dtype_bytes(reducer.dtype)
    chunk = max(1, min(outputs, EXCHANGE_LIMIT // (shape.group // lanes * itemsize)))
    rowwise = chosen is not None
    is_open = not rowwise and not forced_wide() and lanes == LANES and chunk == outputs > 1
    return Plan(
        reducer,
        collected.thread,
        shape,
        rowwise,
        is_open and all(site.needs_layout for site in _sites_of(reducer, sites)),
        lanes,
        outputs,
        chunk,
    )


def _sites_of(reducer: Reducer, sites: tuple[Site, ...]) -> list[Site]:
    return [
        site
        for site in sites
        if any(update.target.data.same_as(reducer.buffer.data) for update in site.updates)
    ]


def _outputs(collected: Collected, reducer: Reducer) -> int:
    extents = [extent for extent in reducer.shape if extent is not None]
    if len(extents) != len(reducer.shape):
        raise ReducerError(
            "RC004",
            f"the shape of reducer {reducer.name} is not static",
            kernel=collected.kernel,
            location=reducer.location,
            fix="allocate it with extents that are known when the kernel is compiled",
        )
    return math.prod(extents)


def _lanes(reducer: Reducer, shape: Shape) -> int:
    """The largest power of two of members that lie in one warp."""
    if shape.threads % LANES or monoids.functor(reducer.op, reducer.dtype) is None:
        return 1
    return min(max(1, LANES // shape.stride), shape.group & -shape.group)


def dtype_bytes(dtype: str) -> int:
    """The bytes of one element of `dtype`."""
    bits = "".join(c for c in dtype.split("_")[0] if c.isdigit()) or "8"
    return max(1, int(bits) // 8)


def _shapes(
    collected: Collected, sites: tuple[Site, ...], outputs: list[int]
) -> list[Shape | None]:
    """The shape of each reducer, None for the baseline.

    The reducers of one loop share its iterations, so those that go by rows must agree on the
    row that visits each of them; where two do not, both fall back.
    """
    rows = [_rows(reducer, sites) for reducer in collected.reducers]
    shapes = [
        None if forced_wide() else _shape(count, collected.threads, mine)
        for count, mine in zip(outputs, rows, strict=True)
    ]
    while True:
        clash = _clash(collected, sites, shapes)
        if not clash:
            return shapes
        for position in clash:
            shapes[position] = None


def _rows(reducer: Reducer, sites: tuple[Site, ...]) -> list[Rows | None]:
    return [
        rows_of(reducer, site, update)
        for site in sites
        for update in site.updates
        if update.target.data.same_as(reducer.buffer.data)
    ]


def _shape(outputs: int, threads: int, rows: list[Rows | None]) -> Shape | None:
    known = [one for one in rows if one is not None]
    if not known or len(known) < len(rows):
        return None
    return best(outputs, threads, known)


def _clash(collected: Collected, sites: tuple[Site, ...], shapes: list[Shape | None]) -> list[int]:
    """The reducers of a loop that go by rows, but not by the same ones."""
    for site in sites:
        seen: dict[int, set[object]] = {}
        for update in site.updates:
            position = _position(collected, update.target)
            if shapes[position] is None:
                continue
            rows = rows_of(collected.reducers[position], site, update)
            seen.setdefault(position, set()).add((shapes[position], rows.axes if rows else None))
        if len(set().union(*seen.values()) if seen else ()) > 1:
            return list(seen)
        targets = {_position(collected, update.target) for update in site.updates}
        if seen and site.layout_is_open and len(targets) > len(seen):
            return list(seen)
    return []


def _position(collected: Collected, buffer: Any) -> int:
    return next(
        k
        for k, reducer in enumerate(collected.reducers)
        if reducer.buffer.data.same_as(buffer.data)
    )
