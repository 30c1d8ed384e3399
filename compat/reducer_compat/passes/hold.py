"""Give a result that is read outside T.Parallel, or only in part, to every participant.

TileLang replicates a fragment that a statement outside T.Parallel reads, but among the threads
that reach the first such read: one thread, where that is ``if tx == 0``. A read of ours that
all participants reach comes before, and is gone after lowering.

A loop that reads the first elements of a fragment alone may decide its layout, which then has no
place for the others: they would be lost.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.sites import is_fragment


def floating(body: Any) -> tuple[Any, ...]:
    """The data of every fragment that a statement outside T.Parallel loads an element of, or a
    T.Parallel loop loads in part."""
    found: list[Any] = []
    _collect(body, found)
    return tuple(found)


def _collect(stmt: Any, found: list[Any]) -> None:
    tir = adapter().tir
    if type(stmt) is tir.For and stmt.kind == tir.ForKind.PARALLEL:
        found.extend(_read_in_part(stmt))
        return
    if type(stmt) is not tir.Evaluate:
        loads = [load for expr in tree.expressions(stmt) for load in tree.loads(expr)]
        found.extend(load.buffer.data for load in loads if is_fragment(load.buffer))
    for child in tree.children(stmt):
        _collect(child, found)


def _read_in_part(loop: Any) -> list[Any]:
    """The data of fragments that a T.Parallel loop reads only the first elements of."""
    inside = list(tree.walk(loop))
    extents = [(one.loop_var, one.extent) for one in inside if type(one) is adapter().tir.For]
    loads = [
        load for stmt in inside for expr in tree.expressions(stmt) for load in tree.loads(expr)
    ]
    return [
        load.buffer.data
        for load in loads
        if is_fragment(load.buffer)
        and any(
            index.same_as(var) and (tree.constant(extent) or size) < size
            for index, full in zip(load.indices, load.buffer.shape, strict=True)
            for var, extent in extents
            for size in [tree.constant(full) or 0]
        )
    ]


def hold(fragment: Any) -> Any:
    """A statement that reads `fragment`, for after its finalize."""
    return adapter().tir.Evaluate(marker.build("hold", marker.origin(fragment)))
