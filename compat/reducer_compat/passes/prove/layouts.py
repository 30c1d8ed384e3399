"""Layouts as tables: which thread holds an element, and where."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.prove.expr import evaluate
from reducer_compat.passes.prove.lanes import Array, Lanes
from reducer_compat.passes.prove.machine import NotCountedError
from reducer_compat.passes.prove.mirror import mirror, variables


@dataclass(frozen=True, slots=True)
class Table:
    """A layout, written out. Elements are numbered row-major over `shape`.

    Attributes:
        place: where each element is within its thread (or its buffer), shape (elements,).
        size: one more than the largest place that the layout can name.
        thread: the threads that hold each element, from 0 in the participants, shape
            (elements, replicas); None for a layout that is not spread over threads.
    """

    shape: tuple[int, ...]
    place: Array
    size: int
    thread: Array | None


@dataclass(slots=True)
class Tables:
    """The tables of the layouts of a kernel, written out once each."""

    known: dict[int, tuple[Any, Table | None]] = field(default_factory=dict)

    def of(self, layout: Any) -> Table | None:
        """The table of a layout; None where it is not known before launch."""
        key = hash(layout)
        if key not in self.known:
            # Kept with its layout: else another could come to lie at its address.
            self.known[key] = layout, table(layout)
        return self.known[key][1]


def table(layout: Any) -> Table | None:
    """The table of a layout; None where it is not known before launch.

    The layout of a loop may depend on the variable of another loop around it.
    """
    shape = _extents(layout.get_input_shape())
    if shape is None:
        return None
    index = [mirror(expr) for expr in tree.items(layout.index)]
    own = _placeholders(shape)
    lanes = _lanes(index, own)
    if lanes is None:
        return None
    thread = None
    if hasattr(layout, "replicate_size"):
        replicas = tree.constant(layout.replicate_size) or 1
        expr = mirror(adapter().layout_thread(layout))
        holders = _lanes([expr], {**own, "_rep": np.arange(replicas)})
        if holders is None:
            return None
        thread = _values(expr, holders, (*shape, replicas)).reshape(-1, replicas)
    axes = [_values(expr, lanes, (*shape, 1)).reshape(-1) for expr in index]
    place, size = _flat(layout, axes)
    return Table(shape, place, size, thread)


def _flat(layout: Any, axes: list[Array]) -> tuple[Array, int]:
    """Where each element is, and the size of what holds them.

    How large TileLang takes a layout for, it needs milliseconds to say. On one axis nothing
    depends on it: what is no element's place is no place that is read.
    """
    if len(axes) == 1:
        return axes[0], int(axes[0].max(initial=-1)) + 1
    output = _extents(layout.get_output_shape())
    if output is None:
        raise NotCountedError("the size of a layout is only known at launch")
    return row_major(axes, output), math.prod(output)


def row_major(indices: list[Any], shape: tuple[int, ...]) -> Any:
    """The number of an element."""
    number = indices[0] if indices else 0
    for index, extent in zip(indices[1:], shape[1:], strict=True):
        number = number * extent + index
    return number


def _placeholders(shape: tuple[int, ...]) -> dict[str, Array]:
    """The coordinates of the elements along each axis, by the names that layouts use.

    There is one axis more, for the replicas.
    """
    return {
        f"_{chr(ord('i') + axis)}": np.arange(extent).reshape(-1, *[1] * (len(shape) - axis))
        for axis, extent in enumerate(shape)
    }


def _lanes(exprs: list[Any], own: dict[str, Array]) -> Lanes | None:
    """The variables of expressions; None where one is not in `own`."""
    values: dict[Hashable, Any] = {}
    for var in (var for expr in exprs for var in variables(expr)):
        name = var.name
        if name not in own:
            return None
        values[var.key] = own[name]
    return Lanes(1, values)


def _values(expr: Any, lanes: Lanes, shape: tuple[int, ...]) -> Array:
    """The value of an expression in every element of `shape`."""
    value = evaluate(expr, lanes)
    return value if np.shape(value) == shape else np.broadcast_to(value, shape)


def _extents(shape: Any) -> tuple[int, ...] | None:
    known = [tree.constant(extent) for extent in tree.items(shape)]
    return None if None in known else tuple(int(extent) for extent in known if extent is not None)
