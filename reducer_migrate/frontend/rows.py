"""Fragments with one value for each row of a tile, and the loops over the rows that read them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from reducer_migrate.frontend.buffers import Buffer
from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import all_below, argument, called, index_parts, names_in
from reducer_migrate.frontend.values import static_int
from reducer_rules.timeline import RowValues

#: Operations that take a tile in whatever layout a copy gave it.
_PASSIVE = frozenset({"copy", "clear", "fill"})
_BITS = re.compile(r"[a-z]+(\d+)")


def reduced_rows(scope: Scope, buffers: Mapping[str, Buffer]) -> dict[str, RowValues]:
    """The fragments that `T.reduce_max` and its like fill from the rows of a copied tile."""
    found: dict[str, RowValues] = {}
    for node in scope.nodes:
        if not isinstance(node, ast.Call) or not (called(node) or "").startswith("reduce_"):
            continue
        source, target = argument(node, 0, "buffer", "src"), argument(node, 1, "out", "dst")
        if not isinstance(source, ast.Name) or not isinstance(target, ast.Name):
            continue
        axis = argument(node, 2, "dim")
        tile = _tile(source.id, scope, buffers)
        if tile is not None and (axis is None or static_int(axis, scope) in (1, -1)):
            found[target.id] = RowValues(target.id, *tile)
    return found


def updated_rows(
    loop: ast.For, indices: Sequence[ast.expr], scope: Scope, buffers: Mapping[str, Buffer]
) -> RowValues | None:
    """The rows that an update in `loop` combines: `acc[i]` with `tile[i, j]` over all of a tile."""
    axes = _axes(loop)
    if len(axes) != 2 or [ast.unparse(index) for index in indices] != axes[:1]:
        return None
    read = [
        (name, parts)
        for name, parts in _subscripts(loop)
        if name in buffers and buffers[name].kind == "alloc_fragment"
    ]
    extents = tuple(static_int(part, scope) for part in _arguments(loop))
    tiles = {_tile(name, scope, buffers) for name, parts in read if parts == axes}
    if len(tiles) != 1 or any(parts != axes for _, parts in read):
        return None
    tile = tiles.pop()
    return RowValues("", *tile) if tile is not None and tile[:2] == extents else None


def row_values(
    loop: ast.For,
    indices: Sequence[ast.expr],
    known: Mapping[str, RowValues],
    buffers: Mapping[str, Buffer],
    own: str,
) -> RowValues | None:
    """What an update of `own` in `loop` reads and combines, where that is one value for each row.

    None where the loop has other axes, is not combined over, or reads anything else that has a
    layout of its own.
    """
    axes = _axes(loop)
    if len(axes) != 1 or any(axes[0] in names_in(index) for index in indices):
        return None
    read: list[RowValues] = []
    for name, parts in _subscripts(loop):
        if name in known and parts == axes:
            read.append(known[name])
        elif name != own and (name not in buffers or _has_layout(buffers[name])):
            return None
    return read[0] if read else None


def _has_layout(buffer: Buffer) -> bool:
    """Whether the elements of a buffer may lie in different threads."""
    shape = buffer.shape
    single = shape is not None and None not in shape and prod(filter(None, shape)) == 1
    return buffer.kind in ("alloc_fragment", "alloc_reducer") and not single


def _tile(name: str, scope: Scope, buffers: Mapping[str, Buffer]) -> tuple[int, int, int] | None:
    """Rows, columns and bits of a fragment of two dimensions that a copy lays out."""
    buffer = buffers.get(name)
    if buffer is None or buffer.kind != "alloc_fragment" or buffer.shape is None:
        return None
    extents = [extent for extent in buffer.shape if extent is not None]
    bits = _BITS.match(buffer.dtype or "")
    if len(extents) != 2 or len(buffer.shape) != 2 or bits is None:
        return None
    calls = [
        node
        for node in scope.nodes
        if isinstance(node, ast.Call)
        and any(isinstance(value, ast.Name) and value.id == name for value in _values(node))
    ]
    copied = any(_fills(call, name, buffers) for call in calls)
    passive = all(
        called(call) in _PASSIVE or (called(call) or "").startswith("reduce_") for call in calls
    )
    return (extents[0], extents[1], int(bits[1])) if copied and passive else None


def _fills(call: ast.Call, name: str, buffers: Mapping[str, Buffer]) -> bool:
    """Whether `call` copies global or shared memory to `name`."""
    if called(call) != "copy":
        return False
    source, target = argument(call, 0, "src"), argument(call, 1, "dst")
    base = source.value if isinstance(source, ast.Subscript) else source
    if not isinstance(target, ast.Name) or target.id != name or not isinstance(base, ast.Name):
        return False
    return base.id in buffers and not _has_layout(buffers[base.id])


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _arguments(loop: ast.For) -> list[ast.expr]:
    return loop.iter.args if isinstance(loop.iter, ast.Call) else []


def _axes(loop: ast.For) -> list[str]:
    """The variables of a parallel loop that has no other one inside; empty for any other."""
    inner = any(
        isinstance(node, ast.For) and called(node.iter) == "Parallel"
        for statement in loop.body
        for node in all_below(statement)
    )
    if inner:
        return []
    target = loop.target
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _subscripts(loop: ast.For) -> Iterator[tuple[str, list[str]]]:
    """The buffers that the body of a loop indexes, with the texts of their indices."""
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                yield node.value.id, [ast.unparse(part) for part in index_parts(node)]
