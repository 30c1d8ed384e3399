"""Refuse what has a meaning in no lowering, before anything is lowered.

- A `T.Parallel` loop that updates a reducer and mentions the thread index: which thread runs an
  iteration is not defined.
- A private array that such a loop stores to by its own variables and that is used elsewhere: it
  would be found by the thread that happens to run an iteration. Within the loop it is fine.
- A thread block of several dimensions whose rows do different things. The rows of threadIdx.x
  are replicas: TileLang spreads loops over x alone, and each row does all of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.passes.collect import Collected, parallel_nest
from reducer_compat.passes.sites import Site


def admit(func: Any, collected: Collected, sites: tuple[Site, ...]) -> None:
    """Raise where the kernel does one of these.

    Raises:
        ReducerError: RC002 or RC004, with the line of the update.
    """
    _refuse_divergent_rows(func, collected)
    for site in sites:
        _refuse_thread_index(site, collected)
        _refuse_private_arrays(func, site, collected.kernel)


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
        if not isinstance(stmt, tir.BufferStore) or str(stmt.buffer.scope()) != "local":
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


def _refuse_divergent_rows(func: Any, collected: Collected) -> None:
    rows = collected.rows
    if not rows:
        return
    for stmt in _of_every_row(func.body, rows):
        if any(_holds(expr, rows) for expr in _expressions(stmt)):
            raise ReducerError(
                "RC004",
                "a kernel with reducers mentions threadIdx.y or threadIdx.z: the rows of its "
                "thread block are replicas of each other",
                kernel=collected.kernel,
                location=collected.reducers[0].location,
                fix="use T.Kernel(..., threads=N), or the variables of T.Parallel loops",
            )


def _of_every_row(stmt: Any, rows: tuple[Any, ...]) -> Iterator[Any]:
    """The statements under `stmt`, without branches that only choose which row stores a result."""
    if _chooses_writer(stmt, rows):
        return
    yield stmt
    for child in tree.children(stmt):
        yield from _of_every_row(child, rows)


def _chooses_writer(stmt: Any, rows: tuple[Any, ...]) -> bool:
    tir = adapter().tir
    if not isinstance(stmt, tir.IfThenElse) or not _holds(stmt.condition, rows):
        return False
    inside = [inner for child in tree.children(stmt) for inner in tree.walk(child)]
    leaves = [inner for inner in inside if not tree.children(inner)]
    return all(
        isinstance(leaf, tir.BufferStore)
        and str(leaf.buffer.scope()) == "global"
        and not any(_holds(expr, rows) for expr in _expressions(leaf))
        for leaf in leaves
    )


def _expressions(stmt: Any) -> tuple[Any, ...]:
    """The operands of a marker, or the expressions that a statement itself holds."""
    if isinstance(stmt, adapter().tir.AttrStmt):
        return ()
    found = marker.read(stmt)
    if found is None:
        return tuple(tree.expressions(stmt))
    return tuple(arg for arg in found.args if isinstance(arg, adapter().tir.PrimExpr))


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
    if isinstance(stmt, tir.BufferStore) and stmt.buffer.data.same_as(buffer.data):
        return True
    return any(
        load.buffer.data.same_as(buffer.data)
        for expr in _expressions(stmt)
        for load in tree.loads(expr)
    )
