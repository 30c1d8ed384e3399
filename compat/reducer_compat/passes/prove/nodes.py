"""The statements of a count: what remains of a kernel where only contributions matter.

Iterations of a loop run together where their order cannot be told: when all they do is combine
into slots that nobody else uses, or when each of them has slots of its own. That is tried, and
found out while running; else they run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reducer_compat.passes.prove.collectives import Butterfly
from reducer_compat.passes.prove.expr import Code, Run, Truth, array
from reducer_compat.passes.prove.lanes import THREAD, TURN, Array, Lanes, filled
from reducer_compat.passes.prove.layouts import Table
from reducer_compat.passes.prove.machine import (
    Journal,
    Machine,
    Memory,
    NotCountedError,
    ReorderedError,
)
from reducer_compat.passes.prove.mirror import variables
from reducer_compat.passes.prove.values import Value

#: Lanes that run together, unless there are more threads.
MOST_LANES = 1 << 20


_NONE: frozenset[int] = frozenset()


class Effects(NamedTuple):
    """The memories that a statement touches, by what it does to them.

    Attributes:
        serial: iterations around this statement run one after the other.
    """

    added: frozenset[int] = _NONE
    written: frozenset[int] = _NONE
    read: frozenset[int] = _NONE
    serial: bool = False

    def __or__(self, other: Effects) -> Effects:
        if other is self or other is NOTHING:
            return self
        if self is NOTHING:
            return other
        return Effects(
            self.added | other.added,
            self.written | other.written,
            self.read | other.read,
            self.serial or other.serial,
        )

    @property
    def commutes(self) -> bool:
        """Whether iterations of this may run in any order."""
        return not self.written and not self.added & self.read

    @property
    def ordered(self) -> frozenset[int]:
        """The memories where the order of iterations may matter."""
        return (self.added | self.written) - (self.added - self.written - self.read)


NOTHING = Effects()


class Node:
    """A statement. `names` are the named contributions and finalizes inside."""

    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        raise NotImplementedError


class Name(NamedTuple):
    """A named statement: `kind` is ``update`` or ``finalize``, the rest as in `Tag`."""

    kind: str
    number: int
    ids: tuple[Any, ...]
    place: int
    codes: tuple[Code, ...]


@dataclass(slots=True)
class Sequence(Node):
    parts: list[Node]
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        for part in self.parts:
            if isinstance(part, Binding):
                lanes = part.bind(machine, lanes)
            else:
                part.run(machine, lanes)


@dataclass(slots=True)
class Binding(Node):
    """A `let` over the rest of the statements around it."""

    key: int
    number: Code
    held: Value | None
    effects: Effects
    names: list[Name]

    def bind(self, machine: Machine, lanes: Lanes) -> Lanes:
        lanes = lanes.later(self.key, self.number.run)
        if self.held is None:
            return lanes
        return lanes.bound(("held", self.key), self.held(machine, lanes))

    def run(self, machine: Machine, lanes: Lanes) -> None:
        """Nothing: what is bound is seen by the statements after it."""


@dataclass(slots=True)
class Write(Node):
    """A store, or a combine into a slot where `adds`."""

    memory: Memory
    index: Run
    value: Value
    adds: bool
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        act = machine.add if self.adds else machine.store
        act(self.memory, lanes, self.index(lanes), self.value(machine, lanes))


@dataclass(slots=True)
class Batch(Node):
    """A `tl::AllReduce` of neighbouring slots in place."""

    memory: Memory
    first: Run
    shape: Butterfly
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        for step in range(self.shape.batch):
            index = self.first(lanes) + step
            value = array(machine.load(self.memory, lanes, index), lanes.count)
            machine.store(self.memory, lanes, index, self.shape.run(lanes, value))


@dataclass(slots=True)
class Branch(Node):
    condition: Truth
    then: Node | None
    other: Node | None
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        # Both before either: what the first arm does must not change who takes the second.
        taken = None if self.then is None else lanes.where(self.condition.may(lanes))
        left = None if self.other is None else lanes.where(self.condition.may_not(lanes))
        for arm, mine in ((self.then, taken), (self.other, left)):
            if arm is not None and mine is not None:
                arm.run(machine, mine)


@dataclass(slots=True)
class Loop(Node):
    """A loop that every lane runs."""

    key: Hashable
    low: Code
    extent: Code
    body: Node
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        low, extent = self.low.run(lanes), self.extent.run(lanes)
        if self.extent.data or self.low.data:
            machine.doubts.add("the length of a loop is data: counted for a length of 3")
            low, extent = 0, 3
        if isinstance(low, np.ndarray) or isinstance(extent, np.ndarray):
            self._ragged(machine, lanes, array(low, lanes.count), array(extent, lanes.count))
            return
        values = self.chosen(machine, lanes, np.arange(int(low), int(low) + int(extent)))
        if len(values) == 1:
            self.body.run(machine, lanes.bound(self.key, int(values[0])))
        elif len(values):
            self.together(machine, lanes, values)

    def chosen(self, machine: Machine, lanes: Lanes, values: Array) -> Array:
        """The iterations in which some named statement counts."""
        keep = np.zeros(len(values), bool)
        for name in self.names:
            hit = self._hits(machine, lanes, values, name)
            if hit is None:
                return values
            keep |= hit
        return values[keep] if self.names else values

    def _hits(self, machine: Machine, lanes: Lanes, values: Array, name: Name) -> Array | None:
        hit = None
        for axis, code in enumerate(name.codes):
            where = (name.kind, name.number, axis)
            if where not in machine.allowed or not self._decides(lanes, name.ids[axis]):
                continue
            probe = Lanes(len(values), {self.key: values}, lanes, np.zeros(len(values), int))
            now = machine.counts(where, name.place, array(code.run(probe), len(values)))
            hit = now if hit is None or now is None else hit & now
        return hit

    def _decides(self, lanes: Lanes, expr: Any) -> bool:
        """Whether an expression depends on this loop and otherwise is the same in all lanes."""
        keys = {var.key for var in variables(expr)}
        if self.key not in keys:
            return False
        try:
            others = [lanes.read(key) for key in keys - {self.key}]
        except KeyError:
            return False
        return all(not isinstance(v, np.ndarray) or (v == v[0]).all() for v in others)

    def together(self, machine: Machine, lanes: Lanes, values: Array) -> None:
        """Run iterations at once where that makes no difference."""
        if self.effects.serial:
            self._one_by_one(machine, lanes, values)
        elif self.effects.commutes:
            step = max(1, MOST_LANES // lanes.count)
            for first in range(0, len(values), step):
                part = values[first : first + step]
                self.body.run(machine, lanes.repeated(self.key, part))
        elif not self._tried(machine, lanes, values):
            self._one_by_one(machine, lanes, values)

    def _tried(self, machine: Machine, lanes: Lanes, values: Array) -> bool:
        if lanes.count * len(values) > MOST_LANES:
            return False
        lanes = lanes.repeated(self.key, values)
        return attempt(machine, self.effects, self.key, lambda: self.body.run(machine, lanes))

    def _one_by_one(self, machine: Machine, lanes: Lanes, values: Array) -> None:
        for value in values:
            self.body.run(machine, lanes.bound(self.key, int(value)))

    def _ragged(self, machine: Machine, lanes: Lanes, low: Array, extent: Array) -> None:
        for value in range(int(low.min()), int((low + extent).max())):
            mine = lanes.where((low <= value) & (value < low + extent))
            if mine is not None:
                self.body.run(machine, mine.bound(self.key, value))


@dataclass(slots=True)
class Spread(Node):
    """A `T.Parallel` nest whose layout says which threads run an iteration.

    `keys` and `lows` are the variables of the nest and where they start.
    """

    keys: list[int]
    lows: list[Code]
    table: Table
    body: Node
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        spread = self._lanes(machine, lanes)
        if spread is None:
            return
        if self.effects.commutes:
            self.body.run(machine, spread)
        elif not attempt(
            machine, self.effects, self._iteration, lambda: self.body.run(machine, spread)
        ):
            self._by_turns(machine, spread)

    @property
    def _iteration(self) -> Hashable:
        return ("iteration", self.keys[0])

    def _by_turns(self, machine: Machine, spread: Lanes) -> None:
        turn = spread.read(TURN)
        for one in np.unique(turn):
            mine = spread.where(turn == one)
            if mine is not None:
                self.body.run(machine, mine)

    def _lanes(self, machine: Machine, lanes: Lanes) -> Lanes | None:
        assert self.table.thread is not None
        threads = lanes.read(THREAD)
        lane = filled(machine.threads, -1)
        lane[threads] = np.arange(lanes.count)
        # TileLang counts the threads of a layout from the first one that runs the loop.
        thread = self.table.thread + int(threads.min())
        replicas = thread.shape[1]
        iteration = np.arange(len(thread)).repeat(replicas)
        thread = thread.reshape(-1)
        there = (thread >= 0) & (thread < machine.threads)
        there &= lane[np.where(there, thread, 0)] >= 0
        iteration, thread = iteration[there], thread[there]
        if replicas > 1:
            _, first = np.unique(iteration * machine.threads + thread, return_index=True)
            iteration, thread = iteration[first], thread[first]
        if not len(iteration):
            return None
        places = np.unravel_index(iteration, self.table.shape)
        own: dict[Any, Any] = {
            key: low.run(lanes) + place
            for key, low, place in zip(self.keys, self.lows, places, strict=True)
        }
        own[self._iteration] = iteration
        own[TURN] = self.table.place[iteration]
        return lanes.chosen(lane[thread], own, self.table.size)


@dataclass(slots=True)
class Finalize(Node):
    """The end of an epoch: what its statements do, and then the check."""

    number: int
    place: int
    codes: tuple[Code, ...]
    body: Node | None
    effects: Effects
    names: list[Name]

    def run(self, machine: Machine, lanes: Lanes) -> None:
        if self.body is not None:
            self.body.run(machine, lanes)
        ids = []
        for axis, code in enumerate(self.codes):
            found = code.run(lanes)
            value = np.unique(found) if isinstance(found, np.ndarray) else np.array([found])
            if len(value) != 1:
                raise NotCountedError("threads finalize different epochs at once")
            hit = machine.counts(("finalize", self.number, axis), self.place, value)
            if hit is not None and not hit[0]:
                return
            ids.append(int(value[0]))
        machine.lived.add(self.place)
        machine.check(self, tuple(ids), lanes, machine)


def attempt(machine: Machine, effects: Effects, key: Hashable, act: Callable[[], None]) -> bool:
    """Run iterations at once; where they are not independent, undo that and return False."""
    memories = [m for k, m in machine.memories.items() if k in effects.added | effects.written]
    ordered = [m for k, m in machine.memories.items() if k in effects.ordered]
    saved = machine.snapshot(memories)
    machine.journals.append(Journal(key, ordered))
    try:
        act()
    except ReorderedError:
        machine.restore(saved)
        return False
    finally:
        machine.journals.pop()
    return True
