"""Expressions of the bits of a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reducer_compat.adapter import adapter
from reducer_compat.passes import build

#: Bits of one number, each with the bit of another that it becomes.
Pairs = Sequence[tuple[int, int]]


def runs(bits: Iterable[int]) -> list[tuple[int, int]]:
    """Neighbouring bits, first and last."""
    found: list[tuple[int, int]] = []
    for bit in bits:
        if found and found[-1][1] == bit - 1:
            found[-1] = (found[-1][0], bit)
        else:
            found.append((bit, bit))
    return found


def run_of(value: Any, run: tuple[int, int]) -> Any:
    """Some neighbouring bits of a number."""
    first, last = run
    high = value // (1 << first) if first else value
    return high % (2 << (last - first))


def moved(value: Any, pairs: Pairs) -> Any:
    """The number whose bit `to` is bit `source` of `value`, for all (source, to)."""
    total: Any = build.integer(0)
    for source, to in _together(pairs):
        part = run_of(value, source)
        total = total + (part * (1 << to) if to else part)
    return adapter().simplify(total)


def _together(pairs: Pairs) -> list[tuple[tuple[int, int], int]]:
    """Pairs that move neighbouring bits by the same distance, as one."""
    found: list[tuple[tuple[int, int], int]] = []
    for source, to in sorted(pairs):
        if (
            found
            and found[-1][0][1] == source - 1
            and source - to == found[-1][0][0] - found[-1][1]
        ):
            found[-1] = ((found[-1][0][0], source), found[-1][1])
        else:
            found.append(((source, source), to))
    return found
