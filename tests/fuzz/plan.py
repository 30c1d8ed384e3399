"""Which kernels of a seed run where: on which releases, in which lanes, in what portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reducer_rules.release import NATIVE_V2, Release

#: Lanes of our lowering besides `legacy`, in turns; `auto` where there is something to choose.
TURNS = ("shipped", "rfc", "converted", "wide")
#: Kernels of a share.
PORTION = 50


@dataclass(frozen=True)
class Share:
    """Kernels for one process: the number of each, and its lanes on the release."""

    release: str
    kernels: tuple[tuple[int, tuple[str, ...]], ...]

    @property
    def first(self) -> int:
        """The number of its first kernel."""
        return self.kernels[0][0]


def is_native(release: str) -> bool:
    """Whether a release has reducers of its own that take v2."""
    return Release.parse(release) >= NATIVE_V2


def lanes_of(number: int, release: str) -> tuple[str, ...]:
    """The lanes of a kernel where every release runs every kernel."""
    if not is_native(release):
        return ("legacy", TURNS[number % len(TURNS)])
    turns = (*TURNS, "auto")
    return ("native", "legacy", turns[number % len(turns)])


def everywhere(
    releases: Sequence[str], numbers: Sequence[int], lanes: Sequence[str] = ()
) -> list[Share]:
    """Every kernel on every release."""
    work = [
        (release, number, tuple(lanes) or lanes_of(number, release))
        for release in releases
        for number in numbers
    ]
    return _shares(work)


def in_turns(releases: Sequence[str], numbers: Sequence[int]) -> list[Share]:
    """Every kernel on the newest release, in one of our lanes and natively where it can be, and
    on one other.

    The other is one of `releases` in turn, with one lane in turn. Numbers of releases and of
    lanes have no common divisor, or every release would only ever see some of the lanes.
    """
    newest, others = releases[-1], releases[:-1]
    lanes = ("legacy", *TURNS, "auto") if is_native(newest) else ("legacy", *TURNS)
    alone = ("native",) if is_native(newest) else ()
    work = []
    for number in numbers:
        work.append((newest, number, (*alone, lanes[number % len(lanes)])))
        if others:
            other, turn = others[number % len(others)], number // len(others)
            work.append((other, number, (_in_turn(turn, other),)))
    return _shares(work)


def _in_turn(turn: int, release: str) -> str:
    lanes = ("native", "legacy", *TURNS, "auto") if is_native(release) else ("legacy", *TURNS)
    return lanes[turn % len(lanes)]


def _shares(work: Sequence[tuple[str, int, tuple[str, ...]]]) -> list[Share]:
    """The work of each release in portions, in the order of numbers."""
    found = []
    for release in dict.fromkeys(release for release, _, _ in work):
        mine = [(number, lanes) for one, number, lanes in work if one == release]
        found += [Share(release, tuple(part)) for part in _portions(mine)]
    return found


def _portions(
    work: list[tuple[int, tuple[str, ...]]],
) -> Iterator[list[tuple[int, tuple[str, ...]]]]:
    return (work[first : first + PORTION] for first in range(0, len(work), PORTION))
