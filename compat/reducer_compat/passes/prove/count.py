"""Count every contribution of a kernel, in every slot that its destinations are read from."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reducer_compat.passes.prove import program as programs
from reducer_compat.passes.prove.expr import length_of
from reducer_compat.passes.prove.lanes import DATA, THREAD, Array, Lanes, root, tiled
from reducer_compat.passes.prove.machine import Axis, Machine, NotCountedError, Stray, Watch
from reducer_compat.passes.prove.program import Program
from reducer_compat.passes.prove.source import Source

Key = tuple[int, tuple[int, ...]]

#: How often iterations of long loops are added.
MOST_ROUNDS = 4
#: What sizes that are only known at launch are taken for, one count each: many tiles, a few, and
#: less than one, where a pipeline is shorter than its stages.
SIZES = (300, 37, 5)


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is not known when a kernel is compiled, or too much to look at.

    Attributes:
        block: the block index, on each axis; -1 for the last.
        size: what sizes given at launch are.
        data: what memory holds.
        told: iterations of long loops that have to count, besides the first and the last.
    """

    block: int
    size: int
    data: int
    told: dict[Axis, Array] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """The same for the same assumptions."""
        told = {axis: tuple(ids.tolist()) for axis, ids in self.told.items()}
        return self.block, self.size, self.data, frozenset(told.items())


@dataclass(frozen=True, slots=True)
class Wrong:
    """A slot that does not hold what it should. `threads` is None for shared memory."""

    key: Key
    slot: int
    output: int
    thread: int | None


@dataclass(slots=True)
class Tally:
    """What was counted so far."""

    contributions: int
    slots: int
    notes: list[str]


class MiscountError(Exception):
    """A slot holds something else than every contribution of its epoch once."""

    def __init__(self, wrong: Wrong | None, key: Key, assumption: Assumption) -> None:
        super().__init__()
        self.wrong = wrong
        self.key = key
        self.assumption = assumption


class StrayError(Exception):
    """A thread writes outside of a buffer that contributions pass through."""

    def __init__(self, stray: Stray) -> None:
        super().__init__()
        self.stray = stray


@dataclass(frozen=True, slots=True)
class Expected:
    """What the destinations of every finalize should hold, from the source.

    Attributes:
        sums: for each finalize and iteration of the loops around it, the weights by output.
        allowed: the iterations of long loops that count.
        met: all iterations of these loops.
        seen: how many iterations ran each update and seed.
        strays: whether an index leaves its reducer, as one that is data may seem to.
    """

    sums: dict[Key, Array]
    allowed: dict[Axis, Array]
    met: dict[Axis, set[int]]
    seen: dict[int, int]
    doubts: set[str]
    strays: bool


def expect(
    source: Source,
    assumption: Assumption,
    focus: Array | None = None,
    watch: Watch | None = None,
) -> Expected:
    """Run a source, as `Machine` says; what all of it makes is kept with the source."""
    plain = focus is None and watch is None
    known: Expected | None = source.expected.get(assumption.key) if plain else None
    if known is not None:
        return known
    sums: dict[Key, Array] = {}

    def check(node: Any, ids: tuple[int, ...], lanes: Lanes, machine: Machine) -> None:
        sums[node.number, ids] = source.memories[source.ends[node.number].target].data.copy()

    machine = Machine(1, source.memories, dict(assumption.told), check, focus, watch=watch)
    machine.forget()
    own = _own(source.blocks, source.sizes, assumption)
    source.body.run(machine, root(1, own))
    strays = machine.stray is not None
    found = Expected(sums, machine.allowed, machine.met, machine.seen, machine.doubts, strays)
    if plain:
        source.expected[assumption.key] = found
    return found


def run(
    program: Program,
    source: Source,
    expected: Expected,
    assumption: Assumption,
    check: Callable[[Any, tuple[int, ...], Lanes, Machine], None],
    focus: Array | None = None,
) -> Machine:
    """Run a program; `check` is called at the end of every finalize that counts."""
    machine = Machine(program.threads, program.memories, expected.allowed, check, focus)
    machine.forget()
    own = _own(program.blocks, program.sizes, assumption)
    own[program.thread] = np.arange(program.threads)
    program.body.run(machine, root(program.threads, own))
    machine.doubts |= expected.doubts
    return machine


def _own(
    blocks: dict[int, int | None], sizes: dict[int, str], assumption: Assumption
) -> dict[Hashable, Any]:
    own: dict[Hashable, Any] = {DATA: assumption.data, **dict.fromkeys(sizes, assumption.size)}
    for key, extent in blocks.items():
        last = (assumption.size if extent is None else extent) - 1
        own[key] = last if assumption.block < 0 else min(assumption.block, max(last, 0))
    return own


def check_all(
    program: Program, source: Source, assumption: Assumption, tally: Tally
) -> set[tuple[str, int]]:
    """Count under one assumption; returns the named statements that ran.

    Iterations of long loops are added until every copy that TileLang made of a statement counts.

    Raises:
        MiscountError: a count is not exactly one.
        NotCountedError: something cannot be followed.
    """
    for _ in range(MOST_ROUNDS):
        check = _Check(program, source, assumption)
        machine = check.run()
        missed = [one for place, one in machine.missed.items() if place not in machine.lived]
        missed += check.unmet(machine)
        if not missed:
            break
        assumption = replace(assumption, told=_joined(assumption.told, missed))
    else:
        tally.notes.append("a copy of a long loop was not counted")
    tally.contributions += sum(check.expected.seen.values())
    tally.slots += check.slots
    tally.notes += sorted(machine.doubts)
    if check.expected.allowed:
        tally.notes.append(
            "long loops counted for their first and last iterations, and for one in each copy"
        )
    ended = {("finalize", number) for number, _ in check.expected.sums}
    return ended | {("update", number) for number in check.expected.seen}


def _joined(told: dict[Axis, Array], more: list[tuple[Axis, int]]) -> dict[Axis, Array]:
    result = dict(told)
    for axis, one in more:
        result[axis] = np.union1d(result.get(axis, np.array([], int)), [one])
    return result


class _Check:
    """One run of both sides."""

    def __init__(self, program: Program, source: Source, assumption: Assumption) -> None:
        self.program, self.source, self.assumption = program, source, assumption
        self.expected = expect(source, assumption)
        self.slots = 0
        self._done: set[Key] = set()

    def run(self) -> Machine:
        """Run the program.

        Raises:
            MiscountError: a count is not exactly one.
            StrayError: a write leaves its buffer.
            NotCountedError: something cannot be followed.
        """
        try:
            machine = run(self.program, self.source, self.expected, self.assumption, self._ended)
            missing = set(self.expected.sums) - self._done
            if missing:
                raise MiscountError(None, min(missing), self.assumption)
        except MiscountError as error:
            if self.expected.doubts:
                raise NotCountedError("; ".join(sorted(self.expected.doubts))) from error
            raise
        if machine.stray is not None and not self.expected.strays and not self.expected.doubts:
            raise StrayError(machine.stray)
        return machine

    def unmet(self, machine: Machine) -> list[tuple[Axis, int]]:
        """The first iteration of each long loop that exists in the source alone."""
        found = []
        for axis, source in self.expected.met.items():
            lost = source - machine.met.get(axis, set()) - set(self.expected.allowed[axis].tolist())
            found += [(axis, min(lost))] if lost else []
        return found

    def _ended(self, node: Any, ids: tuple[int, ...], lanes: Lanes, machine: Machine) -> None:
        key = (node.number, ids)
        wanted = self.expected.sums.get(key)
        if wanted is None:
            raise NotCountedError("a finalize runs where the source has none")
        self._done.add(key)
        slots, outputs, threads = slots_of(self.program, self.source, node.number, lanes)
        held = self.program.destinations[node.number].memory.data[slots]
        self.slots += len(slots)
        bad = (held != wanted[outputs]).nonzero()[0]
        if len(bad):
            wrong = _wrong(key, bad[0], slots, outputs, threads)
            raise MiscountError(wrong, key, self.assumption)


def _wrong(key: Key, at: Any, slots: Array, outputs: Array, threads: Array | None) -> Wrong:
    thread = None if threads is None else int(threads[at])
    return Wrong(key, int(slots[at]), int(outputs[at]), thread)


def slots_of(
    program: Program, source: Source, number: int, lanes: Lanes
) -> tuple[Array, Array, Array | None]:
    """Where each output of a finalize is read from: slots, their outputs, and their threads.

    Raises:
        NotCountedError: the layout of the destination has another shape than the reducer.
    """
    where, end = program.destinations[number], source.ends[number]
    memory, layout = where.memory, where.table
    threads = np.bincount(lanes.read(THREAD)).nonzero()[0]
    if layout is not None:
        if len(layout.place) != end.outputs:
            raise NotCountedError("a destination has another shape than its reducer")
        if layout.thread is None or not memory.private:
            return layout.place, np.arange(end.outputs), None
        holders = layout.thread + threads[0]
        output, replica = np.nonzero((holders >= 0) & (holders < program.threads))
        thread = holders[output, replica]
        return thread * memory.size + layout.place[output], output, thread
    if not memory.private:
        return np.arange(end.outputs), np.arange(end.outputs), None
    output = tiled(np.arange(end.outputs), len(threads))
    thread = threads.repeat(end.outputs)
    return thread * memory.size + output, output, thread


def assumptions(source: Source, program: Program) -> list[Assumption]:
    """The first assumptions to count under; blocks other than the first follow where needed."""
    sizes = SIZES if source.sizes or program.sizes else SIZES[:1]
    data = (0, 1) if source.indexed_by_data else (0,)
    return [Assumption(0, size, one) for size in sizes for one in data]


def count(source: Source, program: Program) -> Tally:
    """Count the contributions of a kernel that was made from a source.

    Raises:
        MiscountError: a count is not exactly one.
        StrayError: a write leaves its buffer.
        NotCountedError: something cannot be followed.
    """
    tally = Tally(0, 0, [])
    reached: set[tuple[str, int]] = set()
    for assumption in assumptions(source, program):
        reached |= check_all(program, source, assumption, tally)
    everything = {("update", number) for number in source.sites}
    everything |= {("finalize", number) for number in source.ends}
    for block in (1, -1):
        if reached >= everything:
            break
        reached |= check_all(program, source, Assumption(block, SIZES[0], 0), tally)
    _explain(source, program, everything - reached, tally)
    return tally


def read_program(source: Source, func: Any, planned: bool) -> Program:
    ops = {number: site.op for number, site in source.sites.items()}
    ends = {number: end.op for number, end in source.ends.items()}
    return programs.read(func, ops, ends, planned, source.tables, source.lengths)


def _explain(source: Source, program: Program, missing: set[tuple[str, int]], tally: Tally) -> None:
    """Say what the count stands for."""
    named = {**source.sizes, **program.sizes}
    sizes = {name for key, name in named.items() if key not in source.lengths}
    lengths = {name for key, name in named.items() if key in source.lengths}
    for names, values in ((sizes, SIZES), (lengths, tuple(map(length_of, SIZES)))):
        if names:
            listed = f"{', '.join(map(str, values[:-1]))} and {values[-1]}"
            tally.notes.append(f"{', '.join(sorted(names))} counted as {listed}")
    if source.indexed_by_data:
        tally.notes.append("indices that are data counted as 0 and 1")
    if source.turns:
        tally.notes.append("a while loop counted for one turn")
    for kind, number in sorted(missing):
        where = (source.sites if kind == "update" else source.ends)[number].location
        tally.notes.append(f"{where} ran in no block that was counted")
    tally.notes = list(dict.fromkeys(tally.notes))
