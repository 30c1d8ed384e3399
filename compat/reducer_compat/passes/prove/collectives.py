"""Values that come from other threads: shuffles, `tl::AllReduce`, and warp reductions.

All lanes of one turn exchange at once. A partner that does not take part gives garbage.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reducer_compat.passes.prove.expr import Scope
from reducer_compat.passes.prove.lanes import THREAD, TURN, Array, Lanes, Peers, filled
from reducer_compat.passes.prove.machine import NotCountedError
from reducer_compat.passes.prove.weights import garbage
from reducer_rules.monoid import Op
from reducer_rules.nest import is_power_of_two

WARP = 32
_ALL_REDUCE = re.compile(r"^tl::AllReduce<([^<>]*(?:<[^<>]*>[^<>]*)*)>::(run|run_batch)$")
_FUNCTORS = {
    "SumOp": Op.SUM,
    "MaxOp": Op.MAX,
    "MinOp": Op.MIN,
    "MaxOpNan": Op.MAX,
    "MinOpNan": Op.MIN,
    "BitAndOp": Op.BITAND,
    "BitOrOp": Op.BITOR,
    "BitXorOp": Op.BITXOR,
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A value that is made of `operand` in this thread and in others."""

    operand: Any
    run: Callable[[Lanes, Array], Array]


@dataclass(frozen=True, slots=True)
class Butterfly:
    """The arguments of a `tl::AllReduce`.

    Levels of half the width, a quarter, ... down to `scale` combine each thread with the one at
    that XOR distance: in shared memory, counted from `offset`, where the distance is a warp or
    more, else between lanes.
    """

    op: Op | None
    width: int
    scale: int
    offset: int
    batch: int

    def run(self, lanes: Lanes, value: Array) -> Array:
        width = self.width
        while width > self.scale:
            width //= 2
            value = value + _opposite(lanes, value, width, self.offset if width >= WARP else 0)
        return value if width == self.scale else np.full_like(value, garbage("odd width"))


def peers(lanes: Lanes) -> Peers:
    """The peers of `lanes`, found once."""
    if lanes.peers is not None:
        return lanes.peers
    thread = lanes.read(THREAD)
    threads = int(thread.max()) + 1
    first = lanes.read(TURN) * threads
    lane = filled(lanes.turns * threads, -1)
    lane[first + thread] = np.arange(lanes.count)
    complete = lanes.count == len(lane)
    in_order = complete and bool((lane == np.arange(lanes.count)).all())
    found = Peers(first, lane, threads, complete, in_order)
    lanes.peers = found
    return found


def _opposite(lanes: Lanes, value: Array, distance: int, base: int) -> Array:
    """What the threads at an XOR distance hold, counted from `base`."""
    group = peers(lanes)
    aligned = is_power_of_two(distance) and not group.threads % (2 * distance)
    if group.in_order and base == 0 and aligned:
        return value.reshape(-1, 2, distance)[:, ::-1].reshape(-1)
    thread = lanes.read(THREAD)
    return partner(lanes, value, ((thread - base) ^ distance) + base)


def partner(lanes: Lanes, value: Array, thread: Array) -> Array:
    """What other threads hold, in the same turn."""
    group = peers(lanes)
    if group.complete and int(thread.min()) >= 0 and int(thread.max()) < group.threads:
        found: Array = value[group.lane[group.first + thread]]
        return found
    there = (thread >= 0) & (thread < group.threads)
    lane = group.lane[group.first + np.where(there, thread, 0)]
    there &= lane >= 0
    return np.where(there, value[np.where(there, lane, 0)], garbage("no such lane"))


def butterfly(name: str) -> tuple[Butterfly, str] | None:
    """The butterfly that a function's name describes, and its method; None for other functions.

    Raises:
        NotCountedError: arguments that are not understood.
    """
    found = _ALL_REDUCE.match(name)
    if found is None:
        if "AllReduce" in name:
            raise NotCountedError(f"contributions pass through {name}")
        return None
    args = [part.strip() for part in re.split(r",(?![^<>]*>)", found[1])]
    numbers = {place: int(arg) for place, arg in enumerate(args) if re.fullmatch(r"-?\d+", arg)}
    if 1 not in numbers or 2 not in numbers:
        raise NotCountedError(f"contributions pass through {name}")
    functor = _FUNCTORS.get(args[0].removeprefix("tl::"))
    shape = Butterfly(functor, numbers[1], numbers[2], numbers.get(3, 0), numbers.get(5, 1))
    return shape, found[2]


def value_of(call: Any, name: str, ops: frozenset[Op], scope: Scope) -> Exchange | None:
    """The exchange that a call is, or None."""
    args = list(call.args)
    if name == "call_extern" or name == "call_pure_extern":
        name, args = text(args[0]), args[1:]
        found = butterfly(name)
        if found is not None:
            return _all_reduce(found[0], args[0], ops)
    name = name.removeprefix("tl.").removeprefix("tl::").removeprefix("__")
    if name.startswith("warp_reduce_"):
        op = {f"warp_reduce_{one}": one for one in Op}.get(name)
        return _all_reduce(Butterfly(op, WARP, 1, 0, 1), args[0], ops)
    kind = _SHUFFLES.get(name.removesuffix("_sync").replace("tvm_warp_shuffle", "shfl"))
    if kind is None:
        return None
    distance = scope.number(args[2])
    width = scope.number(args[3]) if len(args) > 3 else scope.number(WARP)

    def run(lanes: Lanes, value: Array) -> Array:
        thread = lanes.read(THREAD)
        lane = kind(thread % WARP, distance.run(lanes), width.run(lanes))
        return partner(lanes, value, thread - thread % WARP + lane)

    return Exchange(args[1], run)


def _all_reduce(shape: Butterfly, operand: Any, ops: frozenset[Op]) -> Exchange:
    if shape.op is not None and shape.op in ops:
        return Exchange(operand, shape.run)
    mark = garbage(f"functor {shape.op}")
    return Exchange(operand, lambda lanes, value: np.full_like(value, mark))


def text(node: Any) -> str:
    """What a string literal says; empty for anything else."""
    return str(node.value) if node.type == "StringImm" else ""


def _xor(lane: Array, operand: Any, width: Any) -> Any:
    other = lane ^ operand
    return np.where(other // width <= lane // width, other, lane)


def _down(lane: Array, operand: Any, width: Any) -> Any:
    return np.where((lane + operand) // width == lane // width, lane + operand, lane)


def _up(lane: Array, operand: Any, width: Any) -> Any:
    other = lane - operand
    return np.where((other >= 0) & (other // width == lane // width), other, lane)


def _index(lane: Array, operand: Any, width: Any) -> Any:
    return lane // width * width + operand % width


_SHUFFLES: dict[str, Callable[[Array, Any, Any], Any]] = {
    "shfl_xor": _xor,
    "shfl_down": _down,
    "shfl_up": _up,
    "shfl": _index,
}
