"""Shared-memory races by vector clocks, one clock a warp.

Each warp of a block, and the block's asynchronous copy engine, is an agent with a clock.
`known[b, u, w]` is the last clock of agent `w` whose accesses are ordered before what agent `u`
does now. A barrier joins the clocks of the warps that meet at it; an mbarrier carries them from
those that arrive to those that wait. Every shared cell remembers its last write, its last two
readers and its last atomic; an access races with a remembered one when another thread made it and
its clock is not known here.

A write of the value that is there already races with nothing: replicated fragments store that way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import Array

_TID_BITS = 12
_SID_BITS = 20
_CLOCK_SHIFT = _TID_BITS + _SID_BITS
_TID_MASK = (1 << _TID_BITS) - 1
_SID_MASK = (1 << _SID_BITS) - 1


class Clocks:
    """The vector clocks of every block of a launch; blocks and agents are row indices."""

    def __init__(self, blocks: int, threads: int, warp: int):
        self.warps = -(-threads // warp)
        self.agents = self.warps + 1
        self.engine = self.warps
        self.clock = np.ones((blocks, self.agents), np.int64)
        self.known = np.zeros((blocks, self.agents, self.agents), np.int64)

    def join(self, blocks: Array, warps: Array, group: Array) -> None:
        """Orders the agents of each group: `(block, warp)` pairs with the number of their group."""
        groups = int(group.max()) + 1
        merged = np.zeros((groups, self.agents), np.int64)
        np.maximum.at(merged, group, self.knowledge(blocks, warps))
        self.known[blocks, warps] = np.maximum(self.known[blocks, warps], merged[group])
        self.clock[blocks, warps] += 1

    def join_blocks(self, blocks: Array) -> None:
        """Orders all warps of whole blocks: the common case of `join`."""
        known = self.known[blocks, : self.warps]
        merged = known.max(axis=1)
        merged[:, : self.warps] = self.clock[blocks, : self.warps]
        self.known[blocks, : self.warps] = merged[:, None, :]
        self.clock[blocks, : self.warps] += 1

    def knowledge(self, blocks: Array, agents: Array) -> Array:
        """What each agent may pass on: what it knows, and all that it did itself."""
        known = self.known[blocks, agents]
        known[np.arange(len(agents)), agents] = self.clock[blocks, agents]
        return known

    def learn(self, blocks: Array, agents: Array, vectors: Array) -> None:
        """Gives each agent the knowledge in its vector."""
        np.maximum.at(self.known, (blocks, agents), vectors)

    def tick(self, blocks: Array, agents: Array) -> None:
        """Starts a new interval, after knowledge was passed on; pairs are distinct."""
        self.clock[blocks, agents] += 1


class Party:
    """Who accesses: per lane, its block row, agent and a number that is unique within the block."""

    __slots__ = ("agent", "block", "tid")

    def __init__(self, block: Any, agent: Any, tid: Any):
        self.block = block
        self.agent = agent
        self.tid = tid

    def widened(self) -> Party:
        """The same, shaped to broadcast against one more axis of vector elements."""
        return Party(self.block[..., None], self.agent[..., None], self.tid[..., None])


class RaceShadow:
    """The remembered accesses to one shared storage, in cells of `cell` bytes."""

    def __init__(self, nbytes: int, cell: int, clocks: Clocks, warp: int):
        self.cell = cell
        self._clocks = clocks
        self._warp = warp
        self._count = nbytes // cell
        self._tables: dict[str, Array] = {}

    def cells(self, flat: Array, itemsize: int) -> Array:
        """The cells of elements at flat indices; an element wider than a cell adds an axis."""
        ratio = itemsize // self.cell
        if ratio == 1:
            return flat
        return flat[..., None] * ratio + np.arange(ratio)

    def read(self, cells: Array, who: Party, sid: int) -> Array | None:
        """Records reads; the earlier accesses they race with (0 for none), or None if none does."""
        found = self._against(("write", "atomic"), cells, who)
        stamp = self._stamp(cells.shape, who, sid)
        reader, second = self._table("reader"), self._table("second reader")
        last = reader[cells]
        moved = (last != 0) & ((last & _TID_MASK) != who.tid)
        second[cells[moved]] = last[moved]
        reader[cells] = stamp
        lost = (reader[cells] & _TID_MASK) != who.tid
        second[cells[lost]] = stamp[lost]
        return found

    def write(self, cells: Array, who: Party, sid: int, silent: Array, kept: Array) -> Array | None:
        """Records writes, except silent ones; the earlier accesses they race with, or None.

        Two lanes that write a cell in one statement clash unless both values are `kept`.
        """
        silent = np.broadcast_to(silent, cells.shape)
        found = self._against(("write", "atomic", "reader", "second reader"), cells, who)
        if found is not None:
            found = np.where(silent, 0, found)
        stamp, table = self._stamp(cells.shape, who, sid), self._table("write")
        table[cells[~silent]] = stamp[~silent]
        last = table[cells]
        clash = ~silent & ~kept & ((last & _TID_MASK) != who.tid)
        if clash.any():
            found = _first(found, np.where(clash, last, 0))
        return found if found is not None and found.any() else None

    def atomic(self, cells: Array, who: Party, sid: int) -> Array | None:
        """Records atomics; the plain accesses they race with, or None."""
        found = self._against(("write", "reader", "second reader"), cells, who)
        self._table("atomic")[cells] = self._stamp(cells.shape, who, sid)
        return found

    def _table(self, kind: str) -> Array:
        if kind not in self._tables:
            self._tables[kind] = np.zeros(self._count, np.int64)
        return self._tables[kind]

    def _against(self, kinds: tuple[str, ...], cells: Array, who: Party) -> Array | None:
        """The remembered accesses of these kinds that one here races with, or None."""
        found = None
        for table in [self._tables[k] for k in kinds if k in self._tables]:
            seen = table[cells]
            tid = seen & _TID_MASK
            agent = np.minimum(tid // self._warp, self._clocks.engine)
            known = self._clocks.known[who.block, who.agent, agent]
            bad = ((seen >> _CLOCK_SHIFT) > known) & (tid != who.tid)
            if bad.any():
                found = _first(found, np.where(bad, seen, 0))
        return found

    def _stamp(self, shape: tuple[int, ...], who: Party, sid: int) -> Array:
        clock = self._clocks.clock[who.block, who.agent]
        packed = (clock << _CLOCK_SHIFT) | (sid << _TID_BITS) | who.tid
        return np.broadcast_to(packed, shape)


def unpack(stamp: int) -> tuple[int, int]:
    """The thread number and the statement of a remembered access."""
    return stamp & _TID_MASK, (stamp >> _TID_BITS) & _SID_MASK


def _first(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return np.where(a != 0, a, b)
