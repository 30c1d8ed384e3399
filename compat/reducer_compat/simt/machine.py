"""The state of a launch while it runs, and the scheduler that moves its waves.

The program is a flat list of instructions. The scheduler runs the wave that is furthest behind,
so that waves which diverged meet again as early as they can; a wave at a gate (a barrier, a wait)
sleeps until it opens. When every wave sleeps and no gate opens, the launch is stuck: that is
reported as a divergent barrier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import Array
from .memory import Storage
from .race import Clocks, RaceShadow
from .report import Fault, Findings, Index3, SimtError
from .wave import Wave, merge

if TYPE_CHECKING:
    from .program import Gate, Program

MAX_TURNS = 1_000_000


class Machine:
    """A chunk of the blocks of one launch.

    `blocks` are linear block numbers; `grid` and `dims` are (x, y, z). `starve` asks for waits that
    a warp which runs last would never come out of.
    """

    def __init__(
        self,
        program: Program,
        grid: Index3,
        dims: Index3,
        blocks: range,
        findings: Findings,
        warp: int,
        starve: bool = False,
    ):
        self.program = program
        self.starve = starve
        self.grid = grid
        self.dims = dims
        self.first_block = blocks.start
        self.blocks = len(blocks)
        self.threads = dims[0] * dims[1] * dims[2]
        self.warp = warp
        self.findings = findings
        self.steps = 0
        count = self.blocks * self.threads
        self.lane_block = np.repeat(np.arange(self.blocks), self.threads)
        self.lane_tid = np.tile(np.arange(self.threads), self.blocks)
        self.alive = np.ones(count, np.bool_)
        self.alive_count = count
        self.clocks = Clocks(self.blocks, self.threads, warp)
        self.storages: dict[Any, Storage] = {}
        self.state: dict[str, Any] = {}
        self._waves: list[Wave] = []

    # -- places -------------------------------------------------------------------------------

    def index_of(self, tag: str, wave: Wave) -> Any:
        """The value of `blockIdx.*` or `threadIdx.*` in each lane, as int32."""
        axis = "xyz".index(tag[-1])
        if tag.startswith("blockIdx"):
            return _axis(wave.block + self.first_block, self.grid, axis)
        return _axis(wave.tid, self.dims, axis)

    def place(self, lane: int) -> tuple[Index3, Index3]:
        """The (block, thread) indices of a lane."""
        block = int(self.lane_block[lane]) + self.first_block
        return _index3(block, self.grid), _index3(int(self.lane_tid[lane]), self.dims)

    # -- memory -------------------------------------------------------------------------------

    def allocate(self, key: Any, name: str, scope: str, nbytes: int) -> Storage:
        """The storage of an allocation; made at first use, one row a block or a thread."""
        storage = self.storages.get(key)
        if storage is None:
            shared = scope.startswith("shared")
            rows = self.blocks if shared else self.blocks * self.threads
            storage = Storage(name, "shared" if shared else "local", rows, nbytes)
            if shared:
                storage.race = RaceShadow(storage.total, self.program.cell, self.clocks, self.warp)
            self.storages[key] = storage
        return storage

    # -- findings -----------------------------------------------------------------------------

    def fault(self, wave: Wave, kind: str, bad: Any, message: Any) -> None:
        """Reports a fault of the lanes in `bad`, `(n,)` or `(n, ...)`.

        `message(position, element)` says what happened in the first lane; `element` indexes
        further axes.
        """
        bad = np.broadcast_to(bad, (wave.n, *np.shape(bad)[1:]))
        count = int(np.count_nonzero(bad))
        if count == 0 or self.findings.known(kind, wave.sid, count):
            return
        first, *rest = np.unravel_index(int(np.argmax(bad)), bad.shape)
        block, thread = self.place(int(wave.lanes[first]))
        text = message(int(first), tuple(int(i) for i in rest))
        statement = self.program.text(wave.sid)
        self.findings.add(wave.sid, Fault(kind, text, statement, block, thread, count))

    # -- scheduling ---------------------------------------------------------------------------

    def run(self) -> None:
        """Runs every lane to its end."""
        lanes = np.arange(self.blocks * self.threads)
        self._waves = [Wave(self, lanes, list(self.program.initial_env))]
        while self._waves:
            awake = [w for w in self._waves if w.gate is None]
            if awake:
                self._advance(min(w.pc for w in awake))
            elif not self._open_gates():
                self._stuck()

    def add(self, wave: Wave) -> None:
        """Schedules a wave that split off."""
        self._waves.append(wave)

    def sleepers(self) -> list[Wave]:
        """The waves that wait at a gate."""
        return [w for w in self._waves if w.gate is not None]

    def retire(self, wave: Wave) -> None:
        """Takes lanes that returned early out of what barriers wait for."""
        self.alive[wave.lanes] = False
        self.alive_count -= wave.n

    def spin(self, wave: Wave) -> None:
        """Counts a turn of a while loop; raises SimtError in one that does not end."""
        turns = self.state.get("turns", 0) + 1
        self.state["turns"] = turns
        if turns > MAX_TURNS:
            text = self.program.text(wave.sid)
            raise SimtError(f"a while loop did not end within {MAX_TURNS} turns\n    in: {text}")

    def alive_in_block(self) -> Array:
        """How many threads of each block have not returned."""
        counts: Array = self.alive.reshape(self.blocks, self.threads).sum(axis=1)
        return counts

    def _advance(self, pc: int) -> None:
        here = [w for w in self._waves if w.gate is None and w.pc == pc]
        wave = here[0] if len(here) == 1 else merge(here)
        self._waves = [w for w in self._waves if w not in here]
        code = self.program.code
        while True:
            self.steps += 1
            follow = code[wave.pc].run(wave)
            if follow is None:
                return
            wave = follow
            if wave.gate is not None or self._behind(wave.pc):
                self._waves.append(wave)
                return

    def _behind(self, pc: int) -> bool:
        return any(w.gate is None and w.pc <= pc for w in self._waves)

    def _open_gates(self) -> bool:
        self._join_sleepers()
        for wave in list(self._waves):
            ready = wave.gate.ready(wave)
            if ready.all():
                wave.gate, gate = None, wave.gate
                gate.passed(wave)
                return True
            if ready.any():
                self._waves.remove(wave)
                gate = wave.gate
                left, right = wave.sub(~ready), wave.sub(ready)
                left.gate = gate
                self._waves += [left, right]
                gate.passed(right)
                return True
        return False

    def _join_sleepers(self) -> None:
        by_pc: dict[int, list[Wave]] = {}
        for wave in self._waves:
            by_pc.setdefault(wave.pc, []).append(wave)
        self._waves = [ws[0] if len(ws) == 1 else merge(ws) for ws in by_pc.values()]

    def _stuck(self) -> None:
        """Reports lanes that wait for ever, and opens the first gate so that the run can end."""
        stuck = self.state.get("stuck", 0) + 1
        self.state["stuck"] = stuck
        for wave in self._waves:
            gate: Gate = wave.gate
            self.fault(
                wave,
                gate.kind,
                np.ones(wave.n, np.bool_),
                lambda p, e, w=wave, g=gate: g.blame(w, p),
            )
        if stuck > 1000:
            raise SimtError(
                "the kernel is stuck: its barriers never open\n" + str(self.findings.faults()[0])
            )
        wave = min(self._waves, key=lambda w: w.pc)
        wave.gate, gate = None, wave.gate
        gate.passed(wave)


def _axis(linear: Array, dims: Index3, axis: int) -> Any:
    if dims[axis] == 1:
        return np.int32(0)
    step = int(np.prod(dims[:axis], dtype=np.int64))
    return (linear // step % dims[axis]).astype(np.int32)


def _index3(linear: int, dims: Index3) -> Index3:
    x, y, z = dims
    return linear % x, linear // x % y, linear // (x * y) % z
