"""Decide how a reducer keeps its partials, and who takes part.

Threads form `rows` rows of `group` threads: thread `t` is member `t % group` of row
`t // group`. Row `r` holds the outputs `r, r + rows, r + 2 * rows, ...` and nobody else
contributes to them. The wide plan is the case of one row: every thread has a partial of every
output. More rows (narrow) need every site to visit an output only within its row.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from reducer_compat import monoids, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.marker import Marker, read
from reducer_compat.passes.collect import Collected, Reducer, parallel_nest

#: Bytes of shared memory one exchange may take; more outputs are exchanged in turns.
EXCHANGE_LIMIT = 16 * 1024
#: Lanes of one shuffle. A wavefront of 64 shuffles in halves.
LANES = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """The storage of one reducer.

    Attributes:
        threads: participants; `thread` is their variable, counted from 0.
        group: threads that share the outputs of one row.
        slots: partials in each thread.
        lanes: how many neighbours combine by shuffles before the exchange.
        outputs: logical outputs.
        chunk: outputs exchanged through shared memory at once.
    """

    reducer: Reducer
    thread: Any
    threads: int
    group: int
    lanes: int
    outputs: int
    chunk: int

    @property
    def rows(self) -> int:
        return self.threads // self.group

    @property
    def slots(self) -> int:
        return -(-self.outputs // self.rows)

    @property
    def writers(self) -> int:
        """Threads of one row that write to the exchange."""
        return self.group // self.lanes

    @property
    def wide(self) -> bool:
        return self.rows == 1


@dataclass(frozen=True, slots=True)
class Site:
    """The loop nest of one or more updates, and whether it needs TileLang's loop layout."""

    loop: Any
    updates: tuple[Marker, ...]
    needs_layout: bool


def forced_wide() -> bool:
    return os.environ.get("REDUCER_COMPAT_PLAN", "") == "wide"


def plan(collected: Collected, sites: tuple[Site, ...]) -> tuple[Plan, ...]:
    """A plan for each reducer.

    Raises:
        ReducerError: a shape is symbolic, or the thread block has several dimensions.
    """
    if collected.extra_dimensions:
        raise ReducerError(
            "RC004",
            "a reducer in a thread block of several dimensions is not supported",
            kernel=collected.kernel,
            fix="use T.Kernel(..., threads=N)",
        )
    return tuple(_plan_one(collected, reducer, sites) for reducer in collected.reducers)


def _plan_one(collected: Collected, reducer: Reducer, sites: tuple[Site, ...]) -> Plan:
    outputs = _outputs(collected, reducer)
    threads = collected.threads
    group = threads if forced_wide() else _narrow_group(reducer, outputs, threads, sites)
    lanes = _lanes(reducer, threads, group)
    itemsize = dtype_bytes(reducer.dtype)
    chunk = max(1, min(outputs, EXCHANGE_LIMIT // (group // lanes * itemsize)))
    return Plan(reducer, collected.thread, threads, group, lanes, outputs, chunk)


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


def _lanes(reducer: Reducer, threads: int, group: int) -> int:
    if threads % LANES or monoids.functor(reducer.op, reducer.dtype) is None:
        return 1
    return min(LANES, group & -group)


def dtype_bytes(dtype: str) -> int:
    """The bytes of one element of `dtype`."""
    bits = "".join(c for c in dtype.split("_")[0] if c.isdigit()) or "8"
    return max(1, int(bits) // 8)


def _narrow_group(reducer: Reducer, outputs: int, threads: int, sites: tuple[Site, ...]) -> int:
    mine = [
        (site, update)
        for site in sites
        for update in site.updates
        if update.target.data.same_as(reducer.buffer.data)
    ]
    if outputs == 1 or not mine:
        return threads
    spans = [_reduction_extent(reducer, site, update) for site, update in mine]
    if any(span is None for span in spans):
        return threads
    longest = max(span for span in spans if span is not None)
    group = 1
    while group < min(LANES, threads) and group * 8 < longest and threads % (group * 2) == 0:
        group *= 2
    return group if threads // group <= 4 * outputs else _widened(group, threads, outputs)


def _widened(group: int, threads: int, outputs: int) -> int:
    while threads // group > outputs and threads % (group * 2) == 0:
        group *= 2
    return group


def _reduction_extent(reducer: Reducer, site: Site, update: Marker) -> int | None:
    """The iterations per output of a site that a row can visit by itself, or None."""
    if site.needs_layout:
        return None
    axes = output_axes(reducer, site.loop, update)
    if axes is None:
        return None
    nest, _ = parallel_nest(site.loop)
    rest = [tree.constant(nest[k].extent) for k in range(len(nest)) if k not in axes]
    return None if any(extent is None for extent in rest) else math.prod(e for e in rest if e)


def output_axes(reducer: Reducer, loop: Any, update: Marker) -> tuple[int, ...] | None:
    """Which loops of the nest are the axes of the reducer, in its order; None if not one to one.

    Only plain loop variables that cover the whole axis from 0 count.
    """
    nest, _ = parallel_nest(loop)
    axes: list[int] = []
    for index, extent in zip(update.args[5:], reducer.shape, strict=True):
        if tree.constant(index) == 0 and extent == 1:
            continue
        axis = next((k for k, one in enumerate(nest) if one.loop_var.same_as(index)), None)
        if axis is None or axis in axes:
            return None
        if tree.constant(nest[axis].extent) != extent or tree.constant(nest[axis].min) != 0:
            return None
        axes.append(axis)
    return tuple(axes)


def find_sites(func: Any) -> tuple[Site, ...]:
    """Every outermost `T.Parallel` nest that holds an update."""
    found: list[Site] = []
    _find(func.body, found)
    return tuple(found)


def _find(stmt: Any, found: list[Site]) -> None:
    tir = adapter().tir
    if isinstance(stmt, tir.For) and stmt.kind == tir.ForKind.PARALLEL:
        markers = [read(inner) for inner in tree.walk(stmt)]
        updates = tuple(m for m in markers if m is not None and m.kind == "update")
        if updates:
            found.append(Site(stmt, updates, _needs_layout(stmt, updates)))
        return
    for child in tree.children(stmt):
        _find(child, found)


def _needs_layout(loop: Any, updates: tuple[Marker, ...]) -> bool:
    """Whether the nest touches a fragment, whose layout TileLang chooses."""
    tir = adapter().tir
    for stmt in tree.walk(loop):
        found = read(stmt)
        if isinstance(stmt, tir.BufferStore) and is_fragment(stmt.buffer):
            return True
        exprs = found.args[4:] if found is not None else tree.expressions(stmt)
        if any(is_fragment(load.buffer) for expr in exprs for load in tree.loads(expr)):
            return True
    return False


def is_fragment(buffer: Any) -> bool:
    return str(buffer.scope()) == "local.fragment"
