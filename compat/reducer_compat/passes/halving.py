"""Combine the partials of the lanes of a warp: recursive halving, then butterflies.

Lanes that hold many partials give each other half of them, so that each goes on with one half;
what is left when there are no more partials, or no more lanes, is combined by `tl::AllReduce`.

    8 partials in each of 32 lanes          shuffles of one lane
    lane 16..31 keep 4..7, 0..15 keep 0..3    4
    lane  8..15 keep 2, 3 of theirs, ...      2
    lane  4..7  keep the odd one, ...         1
    lanes 0..3, of one partial                2        and 40 by butterflies alone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reducer_compat import marker, monoids, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes import build
from reducer_compat.passes.bits import moved, run_of, runs
from reducer_rules.monoid import Op

#: What one shuffle weighs; a multiprocessor starts four other instructions in its time.
_SHUFFLE = 4
#: What a value costs that is combined by a butterfly, and a pair that is halved: two choices more.
_BUTTERFLY = _SHUFFLE + 1
_PAIR = _SHUFFLE + 3
#: All lanes of a warp.
_ALL = 0xFFFFFFFF
#: On a halving, for `on_target`.
HALVED = "reducer_compat.halved"


@dataclass(frozen=True, slots=True)
class Combined:
    """Partials that were combined over the lanes.

    Attributes:
        code: the statements that combine them.
        held: the totals that a lane has afterwards, in its first partials.
        first: which partial the first of them was.
        only: conditions that hold in one lane of those that have the same totals.
    """

    code: Any
    held: int
    first: Any
    only: tuple[Any, ...]


@lru_cache(maxsize=256)
def padded(slots: int, lanes: int) -> int:
    """How many partials to keep so that `slots` of them are combined over `lanes` most cheaply.

    Those that are added stay at the identity.
    """
    sizes = {-(-slots >> k) << k for k in range(lanes.bit_length())}
    return min(sorted(sizes), key=lambda size: _cost(size, lanes))


def _cost(slots: int, lanes: int) -> int:
    steps = _steps(slots, lanes)
    halved = sum(_PAIR * (slots >> step) for step in range(1, steps + 1))
    rest = lanes.bit_length() - 1 - steps
    return halved + _BUTTERFLY * rest * (slots >> steps)


def _steps(slots: int, lanes: int) -> int:
    """How often partials can be halved."""
    even = (slots & -slots).bit_length() - 1
    return min(even, lanes.bit_length() - 1)


def combined(op: Op, partial: Any, slots: int, bits: Sequence[int], thread: Any) -> Combined:
    """Combine the first `slots` partials of threads that differ in `bits` of their number alone.

    `bits` are of a lane's number, lowest first.
    """
    steps = _steps(slots, 1 << len(bits))
    rest, halves = bits[: len(bits) - steps], bits[len(bits) - steps :]
    held = slots >> steps
    code = [
        _halved(op, partial, slots >> step, bit, thread)
        for step, bit in enumerate(reversed(halves), start=1)
    ]
    if rest:
        code.append(_butterfly(op, partial, held, rest))
    first = moved(thread, [(bit, place) for place, bit in enumerate(halves)]) * held
    only = tuple(run_of(thread, run) == 0 for run in runs(rest))
    return Combined(tree.sequence(code), held, adapter().simplify(first), only)


def _halved(op: Op, partial: Any, half: int, bit: int, thread: Any) -> Any:
    """Keep the upper or the lower half, combined with what the lane opposite has of it.

    Both halves are combined here, and one is dropped; `on_target` does better where it can.
    """
    tir, upper = adapter().tir, run_of(thread, (bit, bit)) == 1

    def one(slot: Any) -> Any:
        low, high = build.load(partial, slot), build.load(partial, slot + half)
        both = [
            build.store(partial, _all_reduced(op, value, [(bit, bit)]), *value.indices)
            for value in (low, high)
        ]
        return tree.sequence([*both, build.store(partial, tir.Select(upper, high, low), slot)])

    numbers = (build.integer(number) for number in (half, bit))
    mark = marker.build("halved", str(op), marker.origin(partial), *numbers, thread)
    return tir.AttrStmt(partial.data, HALVED, mark, build.unrolled(half, one))


def _butterfly(op: Op, partial: Any, held: int, bits: Sequence[int]) -> Any:
    def one(slot: Any) -> Any:
        value = _all_reduced(op, build.load(partial, slot), runs(bits))
        return build.store(partial, value, slot)

    return build.unrolled(held, one)


def _all_reduced(op: Op, value: Any, over: Sequence[tuple[int, int]]) -> Any:
    """A value combined over the lanes that differ in some runs of bits."""
    functor = monoids.functor(op, str(value.dtype))
    for first, last in over:
        name = f"tl::AllReduce<tl::{functor}, {2 << last}, {1 << first}, 0>::run"
        value = build.extern(str(value.dtype), name, value)
    return value


def on_target(func: Any) -> dict[type, tree.Enter]:
    """The rewriting to the shuffles of a kernel's target, without the marks of this module.

    On CUDA each lane gives away the half that it does not keep. TileLang's templates for HIP
    have no name for such an exchange that every release knows.
    """
    cuda = tree.target_kind(func) == "cuda"

    def enter(stmt: Any, inside: Any) -> Any:
        if stmt.attr_key != HALVED:
            return None
        return _exchanged(stmt) if cuda else stmt.body

    return {adapter().tir.AttrStmt: enter}


def _exchanged(stmt: Any) -> Any:
    """The halving that a mark describes, with one shuffle for each pair."""
    args = marker.call_marker(stmt.value).args  # type: ignore[union-attr]
    op, partial, half, bit = Op(str(args[0].value)), args[1].buffer, int(args[2]), int(args[3])
    tir, dtype = adapter().tir, str(partial.dtype)
    upper = run_of(args[4], (bit, bit)) == 1
    mask, distance = tir.const(_ALL, "uint32"), build.integer(1 << bit)

    def one(slot: Any) -> Any:
        low, high = build.load(partial, slot), build.load(partial, slot + half)
        kept, given = _either(upper, high, low), _either(upper, low, high)
        taken = build.extern(dtype, "tl::shfl_xor_sync", mask, given, distance)
        return build.store(partial, monoids.combine(op, kept, taken), slot)

    return build.unrolled(half, one)


def _either(condition: Any, first: Any, second: Any) -> Any:
    """One of two partials.

    The 16-bit floats of CUDA are classes. Of two that are elements of an array `?:` makes a
    reference, an operator takes its address, and the array goes to local memory: a detour through
    float32, which changes no value, makes a number.
    """
    tir, dtype = adapter().tir, str(first.dtype)
    if dtype not in ("float16", "bfloat16"):
        return tir.Select(condition, first, second)
    wide = (tir.Cast("float32", value) for value in (first, second))
    return tir.Cast(dtype, tir.Select(condition, *wide))
