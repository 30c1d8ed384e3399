"""Refuse what has a meaning in no lowering, before anything is lowered.

- A `T.Parallel` loop that updates a reducer and mentions the thread index: which thread runs an
  iteration is not defined.
- A private array that such a loop stores to by its own variables and that is used elsewhere: it
  would be found by the thread that happens to run an iteration. Within the loop it is fine.
- An update of an output whose index is no integer: TileLang fails on it without a word of where.
- A thread block of several dimensions whose rows differ in what a reducer is given, and a loop of
  updates to which some threads do not come (`rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.passes.collect import Collected, parallel_nest
from reducer_compat.passes.rows import refuse_alone, refuse_divergent
from reducer_compat.passes.sites import Site


def admit(func: Any, collected: Collected, sites: tuple[Site, ...]) -> None:
    """Raise where the kernel does one of these.

    Raises:
        ReducerError: RC002 or RC004, with the line of the update.
    """
    refuse_divergent(func, collected)
    refuse_alone(func, collected)
    for site in sites:
        _refuse_other_indices(site, collected.kernel)
        _refuse_thread_index(site, collected)
        _refuse_private_arrays(func, site, collected.kernel)


def _refuse_other_indices(site: Site, kernel: str) -> None:
    for update in site.updates:
        for index in update.args[5:]:
            if str(index.dtype).startswith(("int", "uint")):
                continue
            raise ReducerError(
                "RC002",
                f"the index {index} of an update is {index.dtype}, no integer",
                kernel=kernel,
                location=update.text(3),
                fix=f'cast it: `T.cast({index}, "int32")`',
            )


def _refuse_thread_index(site: Site, collected: Collected) -> None:
    for stmt in tree.walk(site.loop):
        if any(_holds(expr, (collected.thread,)) for expr in _expressions(stmt)):
            raise ReducerError(
                "RC002",
                "a T.Parallel loop that updates a reducer mentions the thread index: which "
                "thread runs an iteration is not defined",
                kernel=collected.kernel,
                location=site.updates[0].text(3),
                fix="use the variables of the T.Parallel loop",
            )


def _refuse_private_arrays(func: Any, site: Site, kernel: str) -> None:
    nest, _ = parallel_nest(site.loop)
    loops = tuple(loop.loop_var for loop in nest)
    tir = adapter().tir
    for stmt in tree.walk(site.loop):
        if type(stmt) is not tir.BufferStore or str(stmt.buffer.scope()) != "local":
            continue
        by_iteration = any(_holds(index, loops) for index in stmt.indices)
        if by_iteration and any(_uses(s, stmt.buffer) for s in _outside(func.body, site.loop)):
            raise ReducerError(
                "RC004",
                f"{stmt.buffer.name} is private to a thread, stored to by the variables of a "
                "T.Parallel loop that updates a reducer, and used outside of that loop",
                kernel=kernel,
                location=site.updates[0].text(3),
                fix="use a fragment",
            )


def _expressions(stmt: Any) -> tuple[Any, ...]:
    """The operands of a marker, or the expressions that a statement itself holds."""
    if type(stmt) is adapter().tir.AttrStmt:
        return ()
    found = marker.read(stmt)
    return tree.expressions(stmt) if found is None else found.args


def _holds(expr: Any, variables: tuple[Any, ...]) -> bool:
    return any(var.same_as(one) for var in tree.variables(expr) for one in variables)


def _outside(stmt: Any, loop: Any) -> Iterator[Any]:
    if stmt.same_as(loop):
        return
    yield stmt
    for child in tree.children(stmt):
        yield from _outside(child, loop)


def _uses(stmt: Any, buffer: Any) -> bool:
    tir = adapter().tir
    if type(stmt) is tir.BufferStore and stmt.buffer.data.same_as(buffer.data):
        return True
    return any(
        load.buffer.data.same_as(buffer.data)
        for expr in _expressions(stmt)
        for load in tree.loads(expr)
    )
