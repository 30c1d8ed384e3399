"""The state of a count: what every slot of memory holds, and what may still be reordered."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reducer_compat.passes.prove.lanes import THREAD, Array, Lanes, filled
from reducer_compat.passes.prove.weights import garbage

#: Slots of one memory that are followed; larger ones are not counted.
MOST_SLOTS = 1 << 23


class NotCountedError(Exception):
    """The program does something whose effect on contributions is not known here."""


class ReorderedError(Exception):
    """Iterations that were run together touch one slot: run them one after the other."""


def among(ids: Array, few: Array) -> Array:
    """Which of some numbers are one of a few: `np.isin` takes its time to choose how to do it."""
    hit = np.zeros(ids.shape, bool)
    for one in few:
        hit |= ids == one
    return hit


@dataclass(slots=True)
class Memory:
    """One buffer that contributions pass through.

    Attributes:
        name: the buffer's.
        size: slots, in each thread where `private`.
        private: whether every thread has its own.
        places: for a fragment, the register of each element; None if indices are places.
        data: the sum of weights in each slot, once a machine runs.
    """

    name: str
    size: int
    private: bool
    threads: int
    places: Array | None = None
    data: Array = field(init=False)

    def __post_init__(self) -> None:
        if self.size * self.threads > MOST_SLOTS:
            raise NotCountedError(f"{self.name} has more slots than are followed")

    def forget(self) -> None:
        """Nothing has been written yet."""
        self.data = np.empty(self.size * (self.threads if self.private else 1), np.uint64)
        self.data.fill(garbage(self.name))

    def slots(self, lanes: Lanes, index: Any) -> tuple[Array, Array | None]:
        """The slot of each lane, and the lanes whose index is in range (None for all)."""
        limit = len(self.places) if self.places is not None else self.size
        if isinstance(index, np.ndarray):
            place = index
        elif 0 <= index < limit:
            return self._slots_of(lanes, int(index)), None
        else:
            place = np.full(lanes.count, index)
        inside = None
        # Negative places are huge without their sign: one comparison for both ends.
        if len(place) and int(place.astype(np.int64, copy=False).view(np.uint64).max()) >= limit:
            inside = (place >= 0) & (place < limit)
            place = np.where(inside, place, 0)
        if self.places is not None:
            place = self.places[place]
        if self.private:
            place = place + lanes.scaled(THREAD, self.size)
        return place, inside

    def _slots_of(self, lanes: Lanes, place: int) -> Array:
        """The slots of all lanes where they name one place, which is in range."""
        if self.places is not None:
            place = int(self.places[place])
        if not self.private:
            return filled(lanes.count, place)
        first: Array = lanes.scaled(THREAD, self.size)
        return first + place if place else first


class Journal:
    """Who touched which slot among iterations that run together.

    An iteration may touch only slots that no other one touches; then their order is irrelevant.
    """

    def __init__(self, key: Hashable, memories: Iterable[Memory]) -> None:
        self.key = key
        self._memories = {id(memory) for memory in memories}
        self._owners: dict[int, Array] = {}

    def touch(self, memory: Memory, lanes: Lanes, slots: Array) -> None:
        """Note that each lane touches a slot.

        Raises:
            ReorderedError: another iteration did.
        """
        if id(memory) not in self._memories:
            return
        iteration = lanes.read(self.key)
        owners = self._owners.get(id(memory))
        if owners is None:
            owners = self._owners[id(memory)] = filled(len(memory.data), -1)
        else:
            before = owners[slots]
            foreign = before != iteration
            if not foreign.any():
                return
            if (before[foreign] != -1).any():
                raise ReorderedError
        owners[slots] = iteration
        if (owners[slots] != iteration).any():
            raise ReorderedError


@dataclass(frozen=True, slots=True)
class Named:
    """A contribution as it is made: the statement, and the loop variables in each lane."""

    number: int
    ids: list[Any]


#: A loop around a named statement: the kind and the number of the name, and which of its loops.
Axis = tuple[str, int, int]
Watch = Callable[[Memory, Array, Any, Named], None]


@dataclass(frozen=True, slots=True)
class Stray:
    """A write of a thread that leaves its buffer."""

    name: str
    size: int
    place: int
    thread: int


@dataclass(slots=True)
class Machine:
    """One run.

    Attributes:
        focus: the weights that count, sorted; None for all.
        allowed: for a statement and the place of one of its loops, the iterations that count.
        check: called at the end of a finalize.
        doubts: statements that could not be followed exactly.
        ran: the threads that ran a contribution in focus.
        lived: places of names that counted.
        met: the iterations of long loops that exist, counting or not.
        missed: places of names that did not count, with an iteration in which they would.
        watch: called with every slot that a contribution goes to directly.
        made: the contribution that was made last.
        seen: how many lanes ran each update and seed.
        stray: the first write that left its buffer.
    """

    threads: int
    memories: dict[int, Memory]
    allowed: dict[Axis, Array]
    check: Callable[[Any, tuple[int, ...], Lanes, Machine], None]
    focus: Array | None = None
    journals: list[Journal] = field(default_factory=list)
    ran: set[int] = field(default_factory=set)
    seen: dict[int, int] = field(default_factory=dict)
    doubts: set[str] = field(default_factory=set)
    lived: set[int] = field(default_factory=set)
    met: dict[Axis, set[int]] = field(default_factory=dict)
    missed: dict[int, tuple[Axis, int]] = field(default_factory=dict)
    watch: Watch | None = None
    made: Named | None = None
    stray: Stray | None = None

    def forget(self) -> None:
        """Nothing has been written yet."""
        for memory in self.memories.values():
            memory.forget()

    def counts(self, axis: Axis, place: int, ids: Array) -> Array | None:
        """Which of some iterations of a loop around a name count; None if all do."""
        allowed = self.allowed.get(axis)
        if allowed is None:
            return None
        self.met.setdefault(axis, set()).update(np.unique(ids).tolist())
        hit = among(ids, allowed)
        if hit.size and not hit.any():
            self.missed[place] = (axis, int(ids.flat[0]))
        return hit

    def load(self, memory: Memory, lanes: Lanes, index: Any) -> Array:
        """What each lane reads."""
        slots, inside = memory.slots(lanes, index)
        self._touch(memory, lanes, slots)
        found = memory.data[slots]
        return found if inside is None else np.where(inside, found, garbage(memory.name))

    def store(self, memory: Memory, lanes: Lanes, index: Any, value: Any) -> None:
        """Let each lane write; threads that write one slot must agree."""
        slots, values = self._target(memory, lanes, index, value)
        memory.data[slots] = values
        self._watched(memory, slots, values)
        if not memory.private and isinstance(values, np.ndarray):
            torn = memory.data[slots] != values
            if torn.any():
                memory.data[slots[torn]] = garbage(memory.name + " torn")

    def add(self, memory: Memory, lanes: Lanes, index: Any, value: Any) -> None:
        """Let each lane combine into a slot; two threads that share one lose an update."""
        slots, values = self._target(memory, lanes, index, value)
        np.add.at(memory.data, slots, values)
        self._watched(memory, slots, values)
        if not memory.private and self.threads > 1:
            self._race(memory, lanes, slots)

    def snapshot(self, memories: Iterable[Memory]) -> list[tuple[Memory, Array]]:
        return [(memory, memory.data.copy()) for memory in memories]

    @staticmethod
    def restore(saved: list[tuple[Memory, Array]]) -> None:
        for memory, data in saved:
            memory.data[:] = data

    def _target(self, memory: Memory, lanes: Lanes, index: Any, value: Any) -> tuple[Array, Any]:
        slots, inside = memory.slots(lanes, index)
        if inside is not None:
            self._strayed(memory, lanes, index, inside)
            slots = slots[inside]
            value = value[inside] if isinstance(value, np.ndarray) else value
            lanes = lanes.where(inside) or lanes
        if len(slots):
            self._touch(memory, lanes, slots)
        return slots, value

    def _strayed(self, memory: Memory, lanes: Lanes, index: Any, inside: Array) -> None:
        outside = (~inside).nonzero()[0]
        if self.stray is None and len(outside):
            lane = outside[0]
            place = index[lane] if isinstance(index, np.ndarray) else index
            thread = int(lanes.read(THREAD)[lane]) if self.threads > 1 else 0
            self.stray = Stray(memory.name, memory.size, int(place), thread)

    def _touch(self, memory: Memory, lanes: Lanes, slots: Array) -> None:
        for journal in self.journals:
            journal.touch(memory, lanes, slots)

    def _watched(self, memory: Memory, slots: Array, values: Any) -> None:
        if self.watch is not None and self.made is not None:
            self.watch(memory, slots, values, self.made)
            self.made = None

    def _race(self, memory: Memory, lanes: Lanes, slots: Array) -> None:
        threads = lanes.read(THREAD)
        if len(threads) != len(slots):
            return
        last = filled(len(memory.data), -1)
        last[slots] = threads
        lost = last[slots] != threads
        memory.data[slots[lost]] = garbage(memory.name + " raced")
