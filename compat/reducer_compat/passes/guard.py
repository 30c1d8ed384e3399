"""Let the updates that waited for their loop's layout run in one replica only.

A loop over fragments may be executed by several threads for the same iteration (replicas).
The layout says by which: its thread expression at replica 0 names one of them.

    partial(...)      ->      if tx == thread(i, j; replica 0): partial(...)

`tx` travelled in the marker, so it counts from 0 within the consumers wherever warp
specialization put them.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import ReducerError
from reducer_compat.passes.build import substitute
from reducer_compat.passes.sites import LAYOUT


def guard(func: Any) -> Any:
    """The kernel with every waiting update guarded.

    Raises:
        ReducerError: TileLang chose no layout for the loop of an update.
    """
    waiting = any(marker.read(stmt) is not None for stmt in statements(func))
    return tree.rewritten(func, _enter) if waiting else func


def _enter(stmt: Any) -> Any:
    found = marker.read(stmt)
    if found is not None and found.kind == "partial":
        raise ReducerError(
            "RC003",
            "TileLang chose no layout for the T.Parallel loop of an update",
            fix="read the operands from shared memory, or report this kernel",
        )
    if type(stmt) is not adapter().tir.For or LAYOUT not in stmt.annotations:
        return None
    if not any(marker.read(inner) is not None for inner in tree.walk(stmt)):
        return stmt
    runner = owner(stmt, stmt.annotations[LAYOUT])
    return adapter().for_loop(stmt, body=tree.transform(stmt.body, lambda s: _one(s, runner)))


def _one(stmt: Any, runner: Any) -> Any:
    found = marker.read(stmt)
    if found is None:
        return None
    update = adapter().tir.Evaluate(found.call)
    return adapter().tir.IfThenElse(found.args[4] == runner, update, None)


def rebase(func: Any) -> Any:
    """Undo beforehand what spreading the loops of updates does to the thread indices in them."""
    return tree.rewritten(func, _rebased) if adapter().shifts_threads else func


def _rebased(stmt: Any) -> Any:
    if type(stmt) is not adapter().tir.For or LAYOUT not in stmt.annotations:
        return None
    marks = [found for inner in tree.walk(stmt) if (found := marker.read(inner)) is not None]
    shift = adapter().thread_shift(stmt.annotations[LAYOUT]) if marks else 0
    if not shift:
        return stmt
    thread = tree.variables(marks[0].args[4])[0]
    return adapter().for_loop(stmt, body=substitute(stmt.body, {thread: thread + shift}))


def owner(loop: Any, layout: Any) -> Any:
    """The thread that runs an iteration, at replica 0, over the variables of the nest."""
    thread = adapter().layout_thread(layout)
    places = {var.name: var for var in tree.variables(thread)}
    mapping = {
        var: adapter().tir.IntImm("int32", 0) for name, var in places.items() if name == "_rep"
    }
    nest: list[Any] = [loop]
    while type(nest[-1].body) is adapter().tir.For:
        nest.append(nest[-1].body)
    for axis, name in enumerate(f"_{chr(ord('i') + k)}" for k in range(len(nest))):
        if name in places:
            mapping[places[name]] = nest[axis].loop_var
    return adapter().tir.stmt_functor.substitute(thread, mapping)
