"""Find the contribution that is counted wrongly, and say it as a user reads it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from reducer_compat.passes.prove import count as counts
from reducer_compat.passes.prove.count import Assumption, Key, Wrong
from reducer_compat.passes.prove.lanes import Array, Lanes
from reducer_compat.passes.prove.machine import Machine, Memory, Named
from reducer_compat.passes.prove.program import Program
from reducer_compat.passes.prove.source import Site, Source
from reducer_compat.passes.prove.weights import times


@dataclass(frozen=True, slots=True)
class Blame:
    """What is wrong: the statement at fault, in words, and where it is."""

    message: str
    location: str


class _FoundError(Exception):
    """The slot in question was reached."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One dynamic contribution: its weight, and what the loops around it were at."""

    site: Site
    ids: tuple[int, ...]
    weight: int


def explain(
    source: Source, program: Program, wrong: Wrong | None, key: Key, assumption: Assumption
) -> Blame:
    """Name a contribution that a slot holds not exactly once.

    Args:
        wrong: the slot; None where the finalize itself was never run.
        key: the finalize, and the iteration of the loops around it.
    """
    end = source.ends[key[0]]
    if wrong is None:
        return Blame(
            f"the finalize of reducer {end.reducer}{_at(key[1])} is run by no thread", end.location
        )
    base, _ = _held(source, program, wrong, assumption, [])
    item = _search(source, program, wrong, assumption, base)
    output = f"output {_output(wrong.output, end.shape)} of reducer {end.reducer}"
    if wrong.thread is not None:
        output += f" in thread {wrong.thread}"
    if item is None:
        return Blame(
            f"{output} holds something that is no contribution: a slot that was not opened, or "
            "one that something else wrote",
            end.location,
        )
    held, ran = _held(source, program, wrong, assumption, [item])
    entry = _entry(output, times((held - base) % (1 << 64), item.weight))
    names = ", ".join(f"{n}={v}" for n, v in zip(item.site.loops, item.ids, strict=True))
    iteration = f" of iteration {names}" if names else ""
    return Blame(
        f"the {item.site.what}{iteration} {entry}; it is run by {_threads(ran)}",
        item.site.location,
    )


def _search(
    source: Source, program: Program, wrong: Wrong, assumption: Assumption, base: int
) -> _Item | None:
    """Halve the contributions until one is left that is not there exactly once.

    `base` is what the slot holds without any of them.
    """
    suspects = _items(source, wrong, assumption)
    bad = [part for part in suspects if _is_bad(source, program, wrong, assumption, part, base)]
    if not bad:
        return None
    mine = bad[0]
    while len(mine) > 1:
        half = mine[: len(mine) // 2]
        mine = (
            half if _is_bad(source, program, wrong, assumption, half, base) else mine[len(half) :]
        )
    return mine[0]


def _is_bad(
    source: Source,
    program: Program,
    wrong: Wrong,
    assumption: Assumption,
    items: list[_Item],
    base: int,
) -> bool:
    held, _ = _held(source, program, wrong, assumption, items)
    expected = counts.expect(source, assumption, _focus(items)).sums[wrong.key][wrong.output]
    return (held - base) % (1 << 64) != int(expected)


def _held(
    source: Source, program: Program, wrong: Wrong, assumption: Assumption, items: list[_Item]
) -> tuple[int, set[int]]:
    """What the slot holds of some contributions, and which threads run them."""
    focus = _focus(items)
    expected = counts.expect(source, assumption)
    result: list[int] = []
    machines: list[Machine] = []

    def check(node: Any, ids: tuple[int, ...], lanes: Lanes, machine: Machine) -> None:
        if (node.number, ids) == wrong.key:
            memory = program.destinations[node.number].memory
            result.append(int(memory.data[wrong.slot]))
            machines.append(machine)
            raise _FoundError

    with contextlib.suppress(_FoundError):
        counts.run(program, source, expected, assumption, check, focus)
    return (result[0] if result else 0), (machines[0].ran if machines else set())


def _focus(items: list[_Item]) -> Array:
    return np.sort(np.array([item.weight for item in items], np.uint64))


def _items(source: Source, wrong: Wrong, assumption: Assumption) -> list[list[_Item]]:
    """The contributions of the kernel: those that belong into the output, and the others."""
    recorder = _Recorder(source, wrong, assumption)
    return [part for part in (recorder.mine, recorder.others) if part]


class _Recorder:
    """Run the source once more, and note every contribution as it happens."""

    def __init__(self, source: Source, wrong: Wrong, assumption: Assumption) -> None:
        self.mine: list[_Item] = []
        self.others: list[_Item] = []
        end = source.ends[wrong.key[0]]
        self._memory, self._output = source.memories[end.target], wrong.output
        self._sites = source.sites
        counts.expect(source, assumption, watch=self._note)

    def _note(self, memory: Memory, slots: Array, weights: Any, named: Named) -> None:
        columns = [np.broadcast_to(one, slots.shape) for one in named.ids]
        weights = np.broadcast_to(weights, slots.shape)
        for lane in np.flatnonzero(weights):
            ids = tuple(int(column[lane]) for column in columns)
            item = _Item(self._sites[named.number], ids, int(weights[lane]))
            right = memory is self._memory and int(slots[lane]) == self._output
            (self.mine if right else self.others).append(item)


def _at(ids: tuple[int, ...]) -> str:
    return f" in iteration {', '.join(map(str, ids))} of the loops around it" if ids else ""


def _output(number: int, shape: tuple[int, ...]) -> str:
    places = np.unravel_index(number, shape)
    return f"[{', '.join(str(int(place)) for place in places)}]"


def _entry(output: str, count: int | None) -> str:
    if count is None:
        return f"enters {output} together with something else"
    words = {
        0: f"does not enter {output}",
        1: f"enters {output}, where it does not belong",
        2: f"enters {output} twice",
    }
    return words.get(count, f"enters {output} {count} times")


def _threads(ran: set[int]) -> str:
    if not ran:
        return "no thread"
    some = sorted(int(one) for one in ran)
    shown = ", ".join(map(str, some[:4])) + (", ..." if len(some) > 4 else "")
    return f"thread {shown}" if len(some) == 1 else f"threads {shown}"
