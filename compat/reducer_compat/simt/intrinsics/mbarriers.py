"""mbarriers: arrivals and bytes in flight, counted by phase.

A wait names a phase by its parity alone. A warp that comes so late that the next phase is complete,
too, waits for the one after that, for ever if there is none. The phase must not complete before the
warp has passed the one before: something that the warp did since must be ordered before the
arrivals. With `starve` a run says where that is not so, whatever the order in which warps ran here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Array
from ..expr import constant, literal
from ..program import Value
from ..report import Fault, UnsupportedError
from ..wave import Wave
from .registry import GateMaker, op, op_gate

if TYPE_CHECKING:
    from ..compile import Compiler
    from ..machine import Machine

_AGENTS = 64
"""More than the warps of a block and its copy engine."""


class MBarriers:
    """An array of mbarriers, for every block: arrivals to come, bytes in flight, phase."""

    def __init__(self, machine: Machine, count: int):
        shape = (machine.blocks, count)
        self.expected = np.zeros(shape, np.int64)
        self.pending = np.zeros(shape, np.int64)
        self.bytes = np.zeros(shape, np.int64)
        self.phase = np.zeros(shape, np.int64)
        self.arriving = np.zeros((*shape, machine.clocks.agents), np.int64)
        self.completed = np.zeros((*shape, machine.clocks.agents), np.int64)
        self._passages = _Passages(machine, self.completed.shape) if machine.starve else None

    def passed(self, wave: Wave, index: Array) -> None:
        """Notes who has come through a wait."""
        if self._passages is not None:
            self._passages.note(wave, index)

    def release(self, block: Array, index: Array, vectors: Array) -> None:
        """Adds to what those will know who wait for the current phase."""
        np.maximum.at(self.arriving, (block, index), vectors)

    def arrive(self, block: Array, index: Array) -> None:
        """One arrival for each (block, index) pair."""
        np.subtract.at(self.pending, (block, index), 1)
        self.settle(block, index)

    def settle(self, block: Array, index: Array) -> None:
        """Completes the phases that have all their arrivals and bytes."""
        done = np.zeros_like(self.pending, np.bool_)
        done[block, index] = True
        done &= (self.pending <= 0) & (self.bytes == 0) & (self.expected > 0)
        self.phase[done] ^= 1
        self.pending[done] += self.expected[done]
        self.completed[done] = self.arriving[done]
        if self._passages is not None and done.any():
            self._passages.judge(done, self.completed)


class _Passages:
    """The last wait of each warp at each mbarrier: its clock and its statement."""

    def __init__(self, machine: Machine, shape: tuple[int, ...]):
        self._machine = machine
        self._clock = np.zeros(shape, np.int64)
        self._sid = np.zeros(shape, np.int64)

    def note(self, wave: Wave, index: Array) -> None:
        where = wave.block, index, wave.party.agent
        self._clock[where] = wave.m.clocks.clock[wave.block, wave.party.agent]
        self._sid[where] = wave.sid

    def judge(self, done: Array, known: Array) -> None:
        """Reports the warps of which the arrivals at complete phases know no passage."""
        late = done[..., None] & (self._clock > known)
        for block, index, warp in np.argwhere(late):
            self._report(int(block), int(index), int(warp))
        self._clock[done] = 0

    def _report(self, block: int, index: int, warp: int) -> None:
        machine, sid = self._machine, int(self._sid[block, index, warp])
        if machine.findings.known("lapped-wait", sid, 1):
            return
        place = machine.place(block * machine.threads + warp * machine.warp)
        text = (
            f"waits for mbarrier {index}, whose next phase completes without this warp: one that "
            "is late takes it for this one, and waits for ever"
        )
        statement = machine.program.text(sid)
        machine.findings.add(sid, Fault("lapped-wait", text, statement, *place))


@dataclass
class BarrierRef:
    """Which mbarrier an argument names: a key of its array, how many it has, and the index."""

    key: str
    count: int
    index: Value

    def array(self, machine: Machine) -> MBarriers:
        """The mbarriers of the running launch."""
        key = f"mbarriers {self.key}"
        if key not in machine.state:
            machine.state[key] = MBarriers(machine, self.count)
        found: MBarriers = machine.state[key]
        return found

    def at(self, wave: Wave) -> Array:
        """The index in each lane."""
        return np.broadcast_to(self.index(wave), (wave.n,)).astype(np.int64)


def barrier_ref(c: Compiler, node: Any) -> BarrierRef:
    """The mbarrier that an argument names."""
    kind = type(node).__name__
    if kind == "BufferLoad":
        extents = [constant(s) for s in node.buffer.shape]
        count = int(np.prod([e or 0 for e in extents])) or 64
        return BarrierRef(str(node.buffer.data.name), count, c.expr(node.indices[0]))
    if kind == "Call":
        name = c.tir.op_name(node)
        if name == "tl.get_mbarrier":
            return BarrierRef("", 64, c.expr(node.args[0]))
        if name in ("address_of", "tl.access_ptr"):
            return barrier_ref(c, node.args[0])
        if name == "tvm_access_ptr":
            return BarrierRef(str(node.args[1].name), 64, c.expr(node.args[2]))
    if kind == "Var":
        return BarrierRef(str(node.name), 64, literal(np.int32(0)))
    raise UnsupportedError(f"the mbarrier {node}")


def release(wave: Wave, barriers: MBarriers, index: Array) -> None:
    """Hands what the lanes' warps know to an mbarrier."""
    pairs = np.unique(wave.block * _AGENTS + wave.party.agent)
    vectors = wave.m.clocks.knowledge(pairs // _AGENTS, pairs % _AGENTS)
    row = np.searchsorted(pairs, wave.block * _AGENTS + wave.party.agent)
    barriers.release(wave.block, index, vectors[row])
    wave.m.clocks.tick(pairs // _AGENTS, pairs % _AGENTS)


@dataclass
class MBarrierWait:
    """`mbarrier.try_wait.parity` in a loop: until the phase of the given parity is complete."""

    ref: BarrierRef
    parity: Value
    kind: str = "divergent-barrier"

    def arrive(self, wave: Wave) -> bool:
        return bool(self.ready(wave).all())

    def ready(self, wave: Wave) -> Array:
        phase = self.ref.array(wave.m).phase[wave.block, self.ref.at(wave)]
        waited = np.broadcast_to(self.parity(wave), (wave.n,)).astype(np.int64) & 1
        return np.asarray(phase != waited)

    def passed(self, wave: Wave) -> None:
        barriers, index = self.ref.array(wave.m), self.ref.at(wave)
        wave.m.clocks.learn(wave.block, wave.party.agent, barriers.completed[wave.block, index])
        barriers.passed(wave, index)

    def blame(self, wave: Wave, position: int) -> str:
        barriers, index = self.ref.array(wave.m), int(self.ref.at(wave)[position])
        block = int(wave.block[position])
        return (
            f"waits for mbarrier {index}, which still expects "
            f"{barriers.pending[block, index]} arrivals and {barriers.bytes[block, index]} bytes"
        )


@op_gate("tl.mbarrier_wait_parity", "ptx_wait_barrier")
def _wait_gate(c: Compiler, node: Any) -> GateMaker:
    return lambda: MBarrierWait(barrier_ref(c, node.args[0]), c.expr(node.args[1]))


@op("tl.mbarrier_wait_parity", "ptx_wait_barrier")
def _wait(c: Compiler, node: Any) -> Value:
    return lambda w: None


@op("ptx_init_barrier_thread_count")
def _init(c: Compiler, node: Any) -> Value:
    ref, count = barrier_ref(c, node.args[0]), c.expr(node.args[1])

    def run(w: Wave) -> None:
        barriers, index = ref.array(w.m), ref.at(w)
        barriers.expected[w.block, index] = barriers.pending[w.block, index] = count(w)

    return run


@op("ptx_arrive_barrier", "tl.mbarrier_arrive")
def _arrive(c: Compiler, node: Any) -> Value:
    ref = barrier_ref(c, node.args[0])

    def run(w: Wave) -> None:
        barriers, index = ref.array(w.m), ref.at(w)
        release(w, barriers, index)
        barriers.arrive(w.block, index)

    return run


@op("tl.mbarrier_expect_tx")
def _expect(c: Compiler, node: Any) -> Value:
    ref, size = barrier_ref(c, node.args[0]), c.expr(node.args[1])

    def run(w: Wave) -> None:
        np.add.at(ref.array(w.m).bytes, (w.block, ref.at(w)), np.broadcast_to(size(w), (w.n,)))

    return run


@op("ptx_arrive_barrier_expect_tx")
def _arrive_expect(c: Compiler, node: Any) -> Value:
    if len(node.args) != 2:
        raise UnsupportedError("an mbarrier of another block of the cluster")
    ref, size = barrier_ref(c, node.args[0]), c.expr(node.args[1])

    def run(w: Wave) -> None:
        barriers, index = ref.array(w.m), ref.at(w)
        np.add.at(barriers.bytes, (w.block, index), np.broadcast_to(size(w), (w.n,)))
        release(w, barriers, index)
        barriers.arrive(w.block, index)

    return run
