"""What a parallel loop accesses beside reducers, as far as it decides how the loop is laid out."""

from __future__ import annotations

import ast
from collections.abc import Callable

from reducer_migrate.frontend.buffers import Buffer
from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import (
    all_below,
    argument,
    bound_names,
    called,
    names_in,
    same_scope,
)
from reducer_rules.timeline import Operands

#: Operations that take a fragment in whatever layout the loops give it.
_ELEMENTWISE = frozenset({"copy", "clear", "fill"})


def operands_of(
    loop: ast.For, buffers: dict[str, Buffer], collective: Callable[[], bool]
) -> Operands | None:
    """Classify the buffers in the body of an outermost `T.Parallel` loop.

    `collective` answers for the function, as `has_collective` does, and is asked where it
    matters. A reducer that is only read there was finalized in place, and is a fragment. None where
    the loop indexes something that the function does not declare.
    """
    bases = {
        node.value.id
        for node in same_scope(loop.body)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
    }
    if not bases <= set(buffers):
        return None
    updated = {name for name in bases & _updated(loop) if buffers[name].kind == "alloc_reducer"}
    kinds = {buffers[name].kind for name in bases - updated}
    if not kinds & {"alloc_fragment", "alloc_reducer"}:
        return Operands.MEMORY
    return Operands.COLLECTIVE if collective() else Operands.ELEMENTWISE


def _updated(loop: ast.For) -> set[str]:
    """The buffers that a loop assigns elements of, and the reducers that it updates."""
    elements = [node for node in same_scope(loop.body) if isinstance(node, ast.Subscript)]
    calls = [node for node in same_scope(loop.body) if called(node) == "reducer_update"]
    first = [argument(call, 0, "target") for call in calls if isinstance(call, ast.Call)]
    written = [node for node in elements if isinstance(node.ctx, ast.Store)]
    written += [node for node in first if isinstance(node, ast.Subscript)]
    return {node.value.id for node in written if isinstance(node.value, ast.Name)}


def has_collective(scope: Scope, buffers: dict[str, Buffer]) -> bool:
    """Whether some fragment of the function gets a layout of its own."""
    return _is_operand(scope, buffers) or _broadcast(scope, buffers)


def copies_to_shared(loop: ast.For, buffers: dict[str, Buffer]) -> bool:
    """Whether the body of a loop copies to shared memory."""
    targets = (
        argument(node, 1, "dst")
        for node in same_scope(loop.body)
        if isinstance(node, ast.Call) and called(node) == "copy"
    )
    whole = (each.value if isinstance(each, ast.Subscript) else each for each in targets)
    names = {each.id for each in whole if isinstance(each, ast.Name)}
    return any(buffers[name].kind == "alloc_shared" for name in names & set(buffers))


def _is_operand(scope: Scope, buffers: dict[str, Buffer]) -> bool:
    """Whether some fragment of the function is used by more than loops and copies."""
    plain: set[int] = set()
    for node in scope.nodes:
        if isinstance(node, ast.For) and called(node.iter) == "Parallel":
            plain |= _ids(node, subscripts_only=True)
        elif called(node) in _ELEMENTWISE and isinstance(node, ast.Call):
            for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
                plain |= _ids(part, subscripts_only=False)
    return any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in buffers
        and buffers[node.id].kind == "alloc_fragment"
        and id(node) not in plain
        for node in scope.nodes
    )


def _broadcast(scope: Scope, buffers: dict[str, Buffer]) -> bool:
    """Whether some fragment is indexed by some of the variables of a parallel nest and not all."""
    return any(
        _in_part(loop, buffers)
        for loop in scope.nodes
        if isinstance(loop, ast.For) and called(loop.iter) == "Parallel"
    )


def _in_part(nest: ast.For, buffers: dict[str, Buffer]) -> bool:
    nodes = all_below(nest)
    axes = {
        name
        for node in nodes
        if isinstance(node, ast.For) and called(node.iter) == "Parallel"
        for name in bound_names(node.target)
    }
    used = (
        names_in(node.slice) & axes
        for node in nodes
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in buffers
        and buffers[node.value.id].kind == "alloc_fragment"
    )
    return any(some and some != axes for some in used)


def _ids(node: ast.AST, *, subscripts_only: bool) -> set[int]:
    found = set()
    for child in same_scope([node]):
        if isinstance(child, ast.Subscript):
            found.add(id(child.value))
        elif isinstance(child, ast.Name) and not subscripts_only:
            found.add(id(child))
    return found
