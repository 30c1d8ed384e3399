"""Load what a block of iterations reads in wide loads, before it is combined.

    for v in unroll(8):                           for v in vectorized(8):
        p[0] = p[0] + A[i, k + v] * x[v]    ->        A_read[v] = A[i, k + v]
                                                  for v in vectorized(8):
                                                      x_read[v] = x[v]
                                                  for v in unroll(8):
                                                      p[0] = p[0] + A_read[v] * x_read[v]

TileLang vectorizes a loop as a whole or not at all, and one that accumulates into one place not
at all. Only what is proven to be aligned and side by side is loaded so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes import build
from reducer_compat.passes.sites import VECTOR_BYTES, load_bytes, same_place
from reducer_rules.nest import is_power_of_two

#: Dtypes whose wide loads were compiled and run on every release.
WIDE = frozenset(
    {"float16", "bfloat16", "float32", "float64", "int32", "uint32", "int16", "int8", "uint8"}
)


@dataclass(frozen=True, slots=True)
class Lane:
    """One loop of a block: its variable, from 0, and its constant extent."""

    var: Any
    extent: int


@dataclass(frozen=True, slots=True)
class Staged:
    """A load and the registers that stand for it.

    Attributes:
        fill: the statement that loads them.
        value: what stands for the load.
    """

    load: Any
    buffer: Any
    fill: Any
    value: Any


def staged(values: Sequence[Any], lanes: Sequence[Lane]) -> list[Staged]:
    """The loads in `values` that a block over `lanes` can make wide."""
    found: list[Staged] = []
    for value in values:
        if _lazy(value):
            continue
        for load in tree.loads(value):
            if not any(same_place(load, other.load) for other in found):
                one = _stage(load, lanes)
                found += [] if one is None else [one]
    return found


def replaced(stmt: Any, stages: Sequence[Staged]) -> Any:
    """`stmt` with every staged load replaced by its register."""
    if not stages:
        return stmt

    def one(node: Any) -> Any:
        return next((stage.value for stage in stages if same_place(node, stage.load)), None)

    return tree.replaced(stmt, one, "BufferLoad")


def _lazy(value: Any) -> bool:
    """Whether some load of an expression may not be made at all."""
    tir = adapter().tir
    lazy = (tir.Select, tir.And, tir.Or)
    return any(
        type(node) in lazy or tree.callee(node).endswith("then_else") for node in tree.nodes(value)
    )


def _stage(load: Any, lanes: Sequence[Lane]) -> Staged | None:
    steps = _steps(load, lanes)
    if steps is None:
        return None
    used = [k for k, step in enumerate(steps[:-1]) if step]
    unit = next((k for k in used if steps[k] == 1), None)
    if unit is None:
        return None
    width = min(lanes[unit].extent, VECTOR_BYTES // load_bytes(load))
    if width < 2 or not is_power_of_two(width) or lanes[unit].extent % width:
        return None
    if any(steps[k] % width for k in used if k != unit) or not divides(width, steps[-1]):
        return None
    return _registers(load, [lanes[k] for k in used if k != unit], lanes[unit], width)


def _registers(load: Any, others: list[Lane], unit: Lane, width: int) -> Staged:
    extents = [lane.extent for lane in others] + [unit.extent]
    name = f"{load.buffer.name}_read"
    buffer = build.buffer(name, build.product(extents), str(load.buffer.dtype), "local")

    def fill(indices: list[Any], start: Any, step: Any) -> Any:
        places = dict(zip((lane.var for lane in others), indices, strict=True))
        places[unit.var] = start * width + step
        source = build.substitute(adapter().tir.Evaluate(load), places).value
        return build.store(buffer, source, build.flat([*indices, places[unit.var]], extents))

    loops = build.unrolled_nest(
        extents[:-1],
        lambda indices: build.unrolled(
            unit.extent // width,
            lambda start: build.vectorized(width, lambda step: fill(indices, start, step)),
        ),
    )
    place = build.flat([lane.var for lane in others] + [unit.var], extents)
    return Staged(load, buffer, loops, build.load(buffer, place))


def _steps(load: Any, lanes: Sequence[Lane]) -> list[Any] | None:
    """How far a load moves in memory with each lane, then where it starts; None if unknown."""
    buffer = load.buffer
    if str(buffer.dtype) not in WIDE or str(buffer.scope()).startswith("local"):
        return None
    variables = [lane.var for lane in lanes]
    found = adapter().tvm.arith.detect_linear_equation(address(load), variables)
    if not found:
        return None
    steps = [tree.constant(step) for step in found[:-1]]
    return None if any(step is None for step in steps) else [*steps, found[-1]]


def strides(buffer: Any) -> list[Any]:
    """How far apart neighbours along each axis of a buffer are, in elements."""
    shape = tree.items(buffer.shape)
    return list(buffer.strides) or [build.product(shape[axis + 1 :]) for axis in range(len(shape))]


def address(load: Any) -> Any:
    """The place of an element in its buffer, in elements."""
    place: Any = build.integer(0)
    for index, stride in zip(load.indices, strides(load.buffer), strict=True):
        place = place + index * stride
    return adapter().simplify(place)


def divides(width: int, start: Any) -> bool:
    """Whether `start` is proven to be a multiple of `width`."""
    tir = adapter().tir
    rest = adapter().simplify(tir.floormod(start, build.integer(width)))
    return tree.constant(rest) == 0
