"""Layouts as tables: which thread holds an element, and where."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.prove.expr import Scope, array
from reducer_compat.passes.prove.lanes import Array, Lanes


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


def table(layout: Any) -> Table | None:
    """The table of a layout; None where it is not known before launch.

    The layout of a loop may depend on the variable of another loop around it.
    """
    shape = _extents(layout.get_input_shape())
    output = _extents(layout.get_output_shape())
    if shape is None or output is None:
        return None
    elements = math.prod(shape)
    variables = _placeholders(shape, 1)
    spread = [adapter().layout_thread(layout)] if hasattr(layout, "replicate_size") else []
    names = {str(var.name) for expr in (*layout.index, *spread) for var in tree.variables(expr)}
    if not names <= {*variables, "_rep"}:
        return None
    place: Any = 0
    for expr, extent in zip(layout.index, output, strict=True):
        place = place * extent + _evaluate(expr, variables, elements)
    threads = _threads(layout, shape) if hasattr(layout, "replicate_size") else None
    return Table(shape, array(place, elements), math.prod(output), threads)


def row_major(indices: list[Any], shape: tuple[int, ...]) -> Any:
    """The number of an element."""
    number: Any = 0
    for index, extent in zip(indices, shape, strict=True):
        number = number * extent + index
    return number


def _threads(layout: Any, shape: tuple[int, ...]) -> Array:
    replicas = tree.constant(layout.replicate_size) or 1
    elements = math.prod(shape)
    variables = _placeholders(shape, replicas)
    variables["_rep"] = np.tile(np.arange(replicas), elements)
    thread = _evaluate(adapter().layout_thread(layout), variables, elements * replicas)
    return array(thread, elements * replicas).reshape(elements, replicas)


def _placeholders(shape: tuple[int, ...], times: int) -> dict[str, Array]:
    """The coordinates of every element, each `times` times, by the names that layouts use."""
    grid = np.indices(shape).reshape(len(shape), -1)
    return {f"_{chr(ord('i') + axis)}": np.repeat(one, times) for axis, one in enumerate(grid)}


def _evaluate(expr: Any, variables: dict[str, Array], count: int) -> Any:
    mentioned = {str(var.name): hash(var) for var in tree.variables(expr)}
    scope = Scope(bound=set(mentioned.values()))
    own: dict[Hashable, Any] = {key: variables[name] for name, key in mentioned.items()}
    return scope.number(expr).run(Lanes(count, own))


def _extents(shape: Any) -> tuple[int, ...] | None:
    known = [tree.constant(extent) for extent in shape]
    return None if None in known else tuple(int(extent) for extent in known if extent is not None)
