"""Keep every epoch on one side of warp specialization.

TileLang gives a pipelined loop to producers and consumers, and has each statement before it run
by the consumers or, as it thinks best, by both: then by more threads than an epoch has
participants, and under other numbers. It decides by what a statement writes, so the statements
of a finalize are held together, and an update says that it writes its partial. What is divided
all the same is refused: its contributions would be lost or counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import ladder, marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import ReducerError
from reducer_compat.ladder import Feature
from reducer_compat.passes.specialized import DISABLED, is_scope

#: On the statements of one finalize.
TOGETHER = "reducer_compat.together"


def may_specialize(target: Any) -> bool:
    """Whether TileLang may specialize warps for a target, as it is configured now."""
    if ladder.gave_up(Feature.TMA) or ladder.gave_up(Feature.SPECIALIZED):
        return False
    config = adapter().tvm.transform.PassContext.current().config
    if bool(config.get(DISABLED, False)):
        return False
    return has_tma(target)


def has_tma(target: Any) -> bool:
    """Whether a target has a tensor memory accelerator."""
    from tilelang.contrib.nvcc import have_tma

    return str(target.kind.name) == "cuda" and bool(have_tma(target))


def together(partial: Any, finalize: Any) -> Any:
    """The statements of a finalize as one, until the layouts are known."""
    from reducer_compat.passes.build import integer

    return adapter().tir.AttrStmt(partial.data, TOGETHER, integer(0), finalize)


def refuse_divided(func: Any, kernel: str, participants: int) -> None:
    """See that every epoch is on one side.

    Raises:
        ReducerError: RC003, an epoch is run by other threads in one part than in another.
    """
    whole = statements(func)
    threads = _threads(func.body)
    if threads > participants:
        common = list(_outside_branches(func.body))
        for data in (stmt.node for stmt in whole if _is_mark(stmt)):
            outside = sum(_closes(stmt, data) or _adds(stmt, data) for stmt in common)
            if 0 < outside < sum(_closes(stmt, data) or _adds(stmt, data) for stmt in whole):
                raise ReducerError(
                    "RC003",
                    "TileLang's warp specialization divides an epoch between the threads of a "
                    f"pipelined loop and all {threads} threads",
                    kernel=kernel,
                    fix=f'pass the config "{DISABLED}": True',
                )


def apart() -> dict[type, tree.Enter]:
    """The rewriting to a kernel without the marks of `together`."""
    return {adapter().tir.AttrStmt: _unmarked}


def _unmarked(stmt: Any, inside: Any) -> Any:
    return inside(stmt.body) if _is_mark(stmt) else None


def _is_mark(stmt: Any) -> bool:
    return type(stmt) is adapter().tir.AttrStmt and stmt.attr_key == TOGETHER


def _threads(body: Any) -> int:
    launch = tree.thread_launch(body)
    return 1 if launch is None else tree.constant(launch.value) or 1


def _outside_branches(stmt: Any) -> Iterator[Any]:
    """The statements that belong neither to producers nor to consumers alone."""
    if is_scope(stmt):
        return
    yield stmt
    for child in tree.children(stmt):
        yield from _outside_branches(child)


def _closes(stmt: Any, data: Any) -> bool:
    return _is_mark(stmt) and stmt.node.same_as(data)


def _adds(stmt: Any, data: Any) -> bool:
    """Whether a statement accumulates into a partial; opening it on more threads does no harm."""
    tir = adapter().tir
    found = marker.read(stmt)
    if found is not None:
        return found.kind == "partial" and bool(found.args[1].buffer.data.same_as(data))
    if type(stmt) is not tir.BufferStore or not stmt.buffer.data.same_as(data):
        return False
    return any(load.buffer.data.same_as(data) for load in tree.loads(stmt.value))
