"""Barriers of a block, of a part of it, of a warp and of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Array
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .registry import Extern, GateMaker, extern, extern_gate, op, op_gate

if TYPE_CHECKING:
    from ..compile import Compiler
    from ..machine import Machine

_SHARED = ("shared", "shared.dyn")
_NUMBERS = 64
"""More than the hardware's 16 barriers of a block."""
_AGENTS = 64
"""More than the warps of a block and its copy engine."""


@dataclass
class BlockBarrier:
    """`__syncthreads`: every thread of the block that has not returned, at this very statement."""

    kind: str = "divergent-barrier"

    def arrive(self, wave: Wave) -> bool:
        return wave.full

    def ready(self, wave: Wave) -> Array:
        here = np.bincount(wave.block, minlength=wave.m.blocks)
        complete: Array = here == wave.m.alive_in_block()
        return np.asarray(complete[wave.block])

    def passed(self, wave: Wave) -> None:
        wave.m.clocks.join_blocks(np.unique(wave.block))

    def blame(self, wave: Wave, position: int) -> str:
        block = int(wave.block[position])
        here = int(np.count_nonzero(wave.block == block))
        alive = int(wave.m.alive_in_block()[block])
        return f"{here} of the block's {alive} threads reach this barrier, and the others never do"


@dataclass
class NamedBarrier:
    """`bar.sync id, count`: any `count` threads of the block, wherever they meet it."""

    number: Value
    count: Value | None
    kind: str = "divergent-barrier"

    def arrive(self, wave: Wave) -> bool:
        return bool(self.ready(wave).all())

    def ready(self, wave: Wave) -> Array:
        number, want = self.arguments(wave)
        have = self._present(wave)[wave.block, number]
        return np.asarray(have >= want)

    def passed(self, wave: Wave) -> None:
        number, want = self.arguments(wave)
        book, here = _arrivals(wave.m), _count(wave, number)
        waiting = self._present(wave) - here - book.count
        target = np.zeros_like(here)
        target[wave.block, number] = want
        # Who passes first counts as arrived for those that still sleep at this barrier.
        book.count += np.where(
            (here > 0) & (waiting == 0), -np.minimum(book.count, target - here), 0
        )
        book.count += np.where((here > 0) & (waiting > 0), here, 0)
        self._exchange(wave, number, book)

    def blame(self, wave: Wave, position: int) -> str:
        number, want = self.arguments(wave)
        have = self._present(wave)[wave.block[position], number[position]]
        return f"{have} threads reach barrier {number[position]}, which waits for {want[position]}"

    def _exchange(self, wave: Wave, number: Array, book: _Arrivals) -> None:
        for other in self._others(wave):
            book.hand_in(other, other.gate.arguments(other)[0])
        book.hand_in(wave, number)
        wave.m.clocks.learn(wave.block, wave.party.agent, book.known[wave.block, number])
        join_lanes(wave, wave.block * _NUMBERS + number)

    def arguments(self, wave: Wave) -> tuple[Array, Array]:
        """The barrier's number and the count it waits for, in each lane."""
        number = np.broadcast_to(self.number(wave), (wave.n,)).astype(np.int64)
        if self.count is None:
            return number, wave.m.alive_in_block()[wave.block]
        return number, np.broadcast_to(self.count(wave), (wave.n,)).astype(np.int64)

    def _others(self, wave: Wave) -> list[Wave]:
        sleepers = wave.m.sleepers()
        return [w for w in sleepers if isinstance(w.gate, NamedBarrier) and w is not wave]

    def _present(self, wave: Wave) -> Array:
        have = _arrivals(wave.m).count + _count(wave, self.arguments(wave)[0])
        for other in self._others(wave):
            have += _count(other, other.gate.arguments(other)[0])
        return np.asarray(have)


def _count(wave: Wave, number: Array) -> Array:
    counts = np.zeros((wave.m.blocks, _NUMBERS), np.int64)
    np.add.at(counts, (wave.block, number), 1)
    return counts


class _Arrivals:
    """Arrivals at named barriers by threads that do not wait there, and what those know."""

    def __init__(self, machine: Machine):
        self.count = np.zeros((machine.blocks, _NUMBERS), np.int64)
        self.known = np.zeros((machine.blocks, _NUMBERS, machine.clocks.agents), np.int64)

    def hand_in(self, wave: Wave, number: Array) -> None:
        """Adds what the lanes' warps know to what the barrier passes on."""
        vectors = wave.m.clocks.knowledge(wave.block, wave.party.agent)
        np.maximum.at(self.known, (wave.block, number), vectors)


def _arrivals(machine: Machine) -> _Arrivals:
    if "arrivals" not in machine.state:
        machine.state["arrivals"] = _Arrivals(machine)
    found: _Arrivals = machine.state["arrivals"]
    return found


def join_lanes(wave: Wave, group: Array) -> None:
    """Orders the warps of the lanes that share a group number."""
    agents = wave.party.agent
    pairs, first = np.unique(wave.block * _AGENTS + agents, return_index=True)
    groups = np.unique(np.broadcast_to(group, (wave.n,))[first], return_inverse=True)[1]
    wave.m.clocks.join(pairs // _AGENTS, pairs % _AGENTS, groups)


@dataclass
class GridBarrier:
    """`cooperative_groups::this_grid().sync()`: every thread of the launch."""

    kind: str = "divergent-barrier"

    def arrive(self, wave: Wave) -> bool:
        return wave.full

    def ready(self, wave: Wave) -> Array:
        return np.full(wave.n, wave.full)

    def passed(self, wave: Wave) -> None:
        wave.m.clocks.join_blocks(np.unique(wave.block))

    def blame(self, wave: Wave, position: int) -> str:
        return f"{wave.n} of the grid's {wave.m.alive_count} threads reach this barrier"


@op_gate("tvm_storage_sync")
def _sync_gate(c: Compiler, node: Any) -> GateMaker | None:
    scope = str(node.args[0].value)
    if scope == "warp":
        return None
    if scope not in _SHARED:
        raise UnsupportedError(f"a storage sync of scope {scope}")
    if len(node.args) == 1:
        return BlockBarrier
    count = node.args[2] if len(node.args) > 2 else None
    return lambda: NamedBarrier(c.expr(node.args[1]), None if count is None else c.expr(count))


@op("tvm_storage_sync")
def _sync(c: Compiler, node: Any) -> Value:
    # Scope "warp" generates no code at all.
    return lambda w: None


@extern_gate("__syncthreads")
def _syncthreads_gate(c: Compiler, call: Extern) -> GateMaker:
    return BlockBarrier


@extern("__syncthreads")
def _syncthreads(c: Compiler, call: Extern) -> Value:
    return lambda w: None


@extern("__syncwarp")
def _syncwarp(c: Compiler, call: Extern) -> Value:
    return lambda w: join_lanes(w, w.block * _AGENTS + w.party.agent)


@op_gate("tl.sync_grid")
def _grid_gate(c: Compiler, node: Any) -> GateMaker:
    c.program.whole_grid = True
    return GridBarrier


@op("tl.sync_grid")
def _grid(c: Compiler, node: Any) -> Value:
    return lambda w: None


@op("tl.sync_warp")
def _sync_warp(c: Compiler, node: Any) -> Value:
    return lambda w: join_lanes(w, w.block * _AGENTS + w.party.agent)


@op("tl.named_barrier_arrive")
def _named_arrive(c: Compiler, node: Any) -> Value:
    number = c.expr(node.args[0])

    def run(w: Wave) -> None:
        numbers = np.broadcast_to(number(w), (w.n,)).astype(np.int64)
        book = _arrivals(w.m)
        book.count += _count(w, numbers)
        book.hand_in(w, numbers)
        agents = np.unique(w.block * _AGENTS + w.party.agent)
        w.m.clocks.tick(agents // _AGENTS, agents % _AGENTS)

    return run


@op_gate("tl.syncthreads_count", "tl.syncthreads_and", "tl.syncthreads_or")
def _vote_gate(c: Compiler, node: Any) -> GateMaker:
    return BlockBarrier


@op("tl.syncthreads_count", "tl.syncthreads_and", "tl.syncthreads_or")
def _block_vote(c: Compiler, node: Any) -> Value:
    predicate, name = c.expr(node.args[0]), c.tir.op_name(node)

    def run(w: Wave) -> Any:
        truth = np.broadcast_to(np.asarray(predicate(w)) != 0, (w.n,))
        count = np.bincount(w.block, weights=truth, minlength=w.m.blocks)
        total = np.bincount(w.block, minlength=w.m.blocks)
        result = {"count": count, "and": count == total, "or": count > 0}[name.rsplit("_", 1)[1]]
        return result.astype(np.int32)[w.block]

    return run
