"""What a kernel is compiled to: a flat list of instructions over waves.

Straight code, with its ifs and loops, is one instruction holding nested Python closures. Only
statements that hold a gate, a return or a break are spread over several instructions, with jumps
between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .dtypes import Array
from .wave import Wave

Value = Callable[[Wave], Any]
"""A compiled expression."""
Action = Callable[[Wave], None]
"""A compiled statement without gates."""


class Gate(Protocol):
    """A place where lanes wait for others; `kind` is the fault when it never opens."""

    kind: str

    def arrive(self, wave: Wave) -> bool:
        """Notes that the wave got here. True when all of its lanes may go on at once."""

    def ready(self, wave: Wave) -> Array:
        """Which lanes of a sleeping wave may go on."""

    def passed(self, wave: Wave) -> None:
        """The effects of going through, for lanes that go on together."""

    def blame(self, wave: Wave, position: int) -> str:
        """Why the lane at `position` waits for ever."""


class Instruction(Protocol):
    """One step of a wave: returns the wave to go on with, or None if it ended or was handed on."""

    def run(self, wave: Wave) -> Wave | None:
        """Executes the instruction at `wave.pc` and moves it on."""


@dataclass
class Execute:
    """Straight code."""

    action: Action

    def run(self, wave: Wave) -> Wave | None:
        self.action(wave)
        wave.pc += 1
        return wave


@dataclass
class Wait:
    """A gate."""

    sid: int
    gate: Gate

    def run(self, wave: Wave) -> Wave | None:
        wave.sid = self.sid
        wave.pc += 1
        if self.gate.arrive(wave):
            self.gate.passed(wave)
        else:
            wave.gate = self.gate
        return wave


@dataclass
class Branch:
    """Lanes for which `condition` holds go on; the others jump to `target`."""

    sid: int
    condition: Value
    target: int = -1

    def run(self, wave: Wave) -> Wave | None:
        wave.sid = self.sid
        return split(wave, self.condition(wave), self.target)


@dataclass
class Jump:
    """All lanes jump to `target`."""

    target: int = -1

    def run(self, wave: Wave) -> Wave | None:
        wave.pc = self.target
        return wave


@dataclass
class Return:
    """All lanes end, `early` by a return or at the end of the program.

    Barriers no longer wait for threads that returned early, as on the device; a barrier that
    threads ran past to the end of the program has diverged, though a device would not hang there.
    """

    early: bool

    def run(self, wave: Wave) -> Wave | None:
        if self.early:
            wave.m.retire(wave)
        return None


def split(wave: Wave, condition: Any, target: int) -> Wave:
    """Sends the lanes without `condition` to `target`, and returns the wave to go on with."""
    if np.ndim(condition) == 0 or condition.all() or not condition.any():
        wave.pc = wave.pc + 1 if np.all(condition) else target
        return wave
    here, there = wave.sub(condition), wave.sub(~condition)
    here.pc, there.pc = wave.pc + 1, target
    wave.m.add(there)
    return here


@dataclass
class Program:
    """A compiled device function.

    `cell` is the size in bytes of a cell of the race check, the narrowest element kept in shared
    memory. `params` are the environment slots of the kernel's arguments.
    """

    name: str
    params: tuple[int, ...] = ()
    code: list[Instruction] = field(default_factory=list)
    initial_env: list[Any] = field(default_factory=list)
    statements: list[Callable[[], str]] = field(default_factory=list)
    cell: int = 4
    whole_grid: bool = False
    block_bytes: int = 0
    thread_bytes: int = 0

    def footprint(self, threads: int) -> int:
        """About how many bytes a block of so many threads needs, shadows included."""
        return self.block_bytes * (2 + 16 // self.cell) + self.thread_bytes * threads * 2

    def text(self, sid: int) -> str:
        """The source text of a statement, its first line."""
        return self.statements[sid]()
