"""The fragments that a parallel loop goes over whole, element by element."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from reducer_migrate.frontend.buffers import Buffer
from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import (
    all_below,
    argument,
    bound_names,
    called,
    index_parts,
    same_scope,
)
from reducer_migrate.frontend.values import static_int

#: Operations that take a tile in the layout that loops and copies give it.
_PASSIVE = frozenset({"copy", "clear", "fill"})
#: Buffers whose elements lie in threads.
_REGISTERS = frozenset({"alloc_fragment", "alloc_reducer", "alloc_local", "alloc_var"})


def tile_axes(nest: ast.For, scope: Scope, buffers: Mapping[str, Buffer]) -> tuple[str, ...]:
    """The variables of a parallel nest, in the order in which it indexes a tile of its extents.

    A tile is a fragment whose axes are those of the nest and that only loops, copies and reductions
    touch. Fragments of fewer axes do not matter. Where all have one element, the nest is dealt as
    a tile of its own. Empty where there is no tile, where two are
    indexed in different orders, or where a fragment is indexed by anything but variables.
    """
    axes = _axes(nest, scope)
    indexed = {name for name, _ in _indexed(nest, buffers)}
    fragments = [buffers[name] for name in indexed if buffers[name].kind == "alloc_fragment"]
    if fragments and all(map(_is_single, fragments)):
        return tuple(axes)
    orders = set()
    for name, parts in _elements(nest, buffers, axes):
        if any(part not in axes for part in parts):
            return ()
        if len(parts) == len(axes):
            if not _is_tile(name, tuple(axes.get(part) for part in parts), scope, buffers):
                return ()
            orders.add(parts)
    return orders.pop() if len(orders) == 1 else ()


def part_tiles(
    nest: ast.For, scope: Scope, buffers: Mapping[str, Buffer]
) -> tuple[tuple[str, ...], ...]:
    """The variables of a parallel nest that index copied fragments of fewer axes than the nest.

    The copy may lay such a fragment out first, and the nest has to follow.
    """
    axes = _axes(nest, scope)
    found = {
        parts
        for name, parts in _elements(nest, buffers, axes)
        if len(parts) < len(axes)
        and not _is_single(buffers[name])
        and all(part in axes for part in parts)
        and _is_tile(name, tuple(map(axes.get, parts)), scope, buffers)
        and any(_is_copied_to(node, name) for node in scope.nodes)
    }
    return tuple(sorted(found))


def touches_memory(nest: ast.For, buffers: Mapping[str, Buffer]) -> bool:
    """Whether a parallel nest accesses global or shared memory, and stores to no fragment."""
    indexed = [
        (buffers[node.value.id].kind, isinstance(node.ctx, ast.Store))
        for node in same_scope(nest.body)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in buffers
    ]
    if ("alloc_fragment", True) in indexed:
        return False
    return any(kind not in _REGISTERS for kind, _ in indexed)


def is_stored_only(name: str, scope: Scope, buffers: Mapping[str, Buffer]) -> bool:
    """Whether a fragment is copied to memory, element by element, and read for nothing else.

    A parallel loop that stores each element where the loop's variables say is such a copy, and
    what thread 0 does alone passes for one.
    """
    stored: set[int] = set()
    for node in scope.nodes:
        moved = called(node) in ("copy", "finalize_reducer")
        alone = isinstance(node, ast.If) and _is_of_first_thread(node.test, scope)
        loop = isinstance(node, ast.For) and _stores_elements(node, name, scope, buffers)
        if moved or alone or loop:
            stored |= _names(node)
    return all(
        id(node) in stored
        for node in scope.nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name
    )


def _stores_elements(nest: ast.For, name: str, scope: Scope, buffers: Mapping[str, Buffer]) -> bool:
    """Whether a parallel nest does nothing with elements of a fragment but to store them."""
    if called(nest.iter) != "Parallel":
        return False
    axes = _axes(nest, scope)
    indexed = list(_indexed(nest, buffers))
    plain = all(part in axes for each, parts in indexed if each == name for part in parts)
    kinds = {buffers[each].kind for each, _ in indexed if each != name}
    return plain and not kinds & {"alloc_fragment", "alloc_reducer"}


def _is_of_first_thread(test: ast.expr, scope: Scope) -> bool:
    """Whether a test is `T.get_thread_binding() == 0`, or that of a name for it."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    left = scope.value(test.left.id) if isinstance(test.left, ast.Name) else test.left
    alone = len(test.ops) == 1 and static_int(test.comparators[0], scope) == 0
    return alone and left is not None and called(left) == "get_thread_binding"


def _names(node: ast.AST) -> set[int]:
    return {id(child) for child in all_below(node) if isinstance(child, ast.Name)}


def _is_copied_to(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or called(node) != "copy":
        return False
    target = argument(node, 1, "dst")
    return isinstance(target, ast.Name) and target.id == name


def _axes(nest: ast.For, scope: Scope) -> dict[str, int | None]:
    """The variables of the parallel loops of a nest, with their extents."""
    found: dict[str, int | None] = {}
    for node in all_below(nest):
        if isinstance(node, ast.For) and called(node.iter) == "Parallel":
            assert isinstance(node.iter, ast.Call)
            names = list(bound_names(node.target))
            extents = [static_int(extent, scope) for extent in node.iter.args]
            found |= dict(zip(names, extents, strict=False))
    return found


def _elements(
    nest: ast.For, buffers: Mapping[str, Buffer], axes: Mapping[str, int | None]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fragments that a nest indexes, with their indices: the text of any but a variable.

    Those of a single element are every thread's, and decide nothing where no variable stands.
    """
    for name, parts in _indexed(nest, buffers):
        if buffers[name].kind != "alloc_fragment":
            continue
        if not _is_single(buffers[name]) or all(part in axes for part in parts):
            yield name, parts


def _indexed(nest: ast.For, buffers: Mapping[str, Buffer]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The buffers that a nest indexes, with the texts of their indices."""
    for node in same_scope(nest.body):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        if node.value.id in buffers:
            yield node.value.id, tuple(ast.unparse(part) for part in index_parts(node))


def _is_single(buffer: Buffer) -> bool:
    """Whether a buffer has one element."""
    return buffer.shape is not None and all(extent == 1 for extent in buffer.shape)


def _is_tile(
    name: str, extents: tuple[int | None, ...], scope: Scope, buffers: Mapping[str, Buffer]
) -> bool:
    """Whether a fragment has these extents, and a layout that is not some operation's choice."""
    if None in extents or buffers[name].shape != extents:
        return False
    return all(
        called(node) in _PASSIVE or (called(node) or "").startswith("reduce_")
        for node in scope.nodes
        if isinstance(node, ast.Call) and _takes(node, name)
    )


def _takes(call: ast.Call, name: str) -> bool:
    """Whether a buffer, or a slice of it, is an argument of a call; an element is a value."""
    for value in [*call.args, *(keyword.value for keyword in call.keywords)]:
        base = value
        if isinstance(value, ast.Subscript) and any(
            isinstance(part, ast.Slice) for part in index_parts(value)
        ):
            base = value.value
        if isinstance(base, ast.Name) and base.id == name:
            return True
    return False
