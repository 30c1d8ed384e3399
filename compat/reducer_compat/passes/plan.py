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

from reducer_compat import baseline, monoids
from reducer_compat.errors import ReducerError
from reducer_compat.modes import PLAN_VARIABLE
from reducer_compat.passes.collect import Collected, Reducer
from reducer_compat.passes.sites import Rows, Site, rows_of

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


def forced_wide() -> bool:
    """Whether the environment or the pass config of this compilation asks for the wide plan."""
    return os.environ.get(PLAN_VARIABLE, "") == "wide" or baseline.forced()


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
    outputs = [_outputs(collected, reducer) for reducer in collected.reducers]
    groups = _groups(collected, sites, outputs)
    return tuple(
        _plan_one(collected, reducer, count, group)
        for reducer, count, group in zip(collected.reducers, outputs, groups, strict=True)
    )


def _plan_one(collected: Collected, reducer: Reducer, outputs: int, group: int) -> Plan:
    threads = collected.threads
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


def _groups(collected: Collected, sites: tuple[Site, ...], outputs: list[int]) -> list[int]:
    """The group of each reducer: all threads (wide), or fewer where that is proven to do.

    The reducers of one loop share its iterations, so those that are narrow must agree on the
    row that visits each of them; where two do not, both go wide.
    """
    threads = collected.threads
    rows = [_rows(reducer, sites) for reducer in collected.reducers]
    groups = [
        threads if forced_wide() else _narrow(count, threads, mine)
        for count, mine in zip(outputs, rows, strict=True)
    ]
    while True:
        clash = _clash(collected, sites, groups)
        if not clash:
            return groups
        for position in clash:
            groups[position] = threads


def _rows(reducer: Reducer, sites: tuple[Site, ...]) -> list[Rows | None]:
    return [
        rows_of(reducer, site, update)
        for site in sites
        for update in site.updates
        if update.target.data.same_as(reducer.buffer.data)
    ]


def _narrow(outputs: int, threads: int, rows: list[Rows | None]) -> int:
    known = [one for one in rows if one is not None]
    if outputs == 1 or not known or len(known) < len(rows):
        return threads
    longest = max(one.span for one in known)
    group = 1
    while group < min(LANES, threads) and group * 8 < longest and threads % (group * 2) == 0:
        group *= 2
    while threads // group > outputs and threads % (group * 2) == 0:
        group *= 2
    fits = all(one.fits(outputs, threads // group, group) for one in known)
    return group if fits else threads


def _clash(collected: Collected, sites: tuple[Site, ...], groups: list[int]) -> list[int]:
    """The narrow reducers of a loop that others of the same loop disagree with."""
    for site in sites:
        seen: dict[int, set[object]] = {}
        for update in site.updates:
            position = _position(collected, update.target)
            if groups[position] == collected.threads:
                continue
            rows = rows_of(collected.reducers[position], site, update)
            seen.setdefault(position, set()).add((groups[position], rows.axes if rows else None))
        if len(set().union(*seen.values()) if seen else ()) > 1:
            return list(seen)
        if seen and site.layout_is_open and len(site.updates) > len(seen):
            return list(seen)
    return []


def _position(collected: Collected, buffer: Any) -> int:
    return next(
        k
        for k, reducer in enumerate(collected.reducers)
        if reducer.buffer.data.same_as(buffer.data)
    )
