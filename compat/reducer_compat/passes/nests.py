"""Tell what TileLang loses of copies in loops, before a kernel is lowered.

- A tile of a pipelined loop that something outside such loops touches, before or behind them: the
  tile gets a place for each stage, and what stands outside takes the wrong one, or one that is
  not there. And a tile that a turn fills twice. Seen on 0.1.9 to 0.1.15.
- A tile of two pipelined loops with different numbers of stages: it has places for those of one of
  them, and the other writes behind it. Seen on all releases.
- A copy under a condition inside a pipelined loop, where warps are specialized: producers and
  consumers count different turns, and one that is late waits for ever.
- A tile of two pipelined loops, where 0.1.8 specializes warps.
- A thread block of several dimensions, where warps are specialized: TileLang counts warps by
  threadIdx.x alone, so producers of every row wait, and one that is late waits for ever. 0.1.8
  makes no barriers for tensor copies there, and the compiler of the device code stops.

- A loop inside a pipelined one that copies a tile and reads it, beside other statements:

      for k in T.Pipelined(4, num_stages=2):
          T.reducer_init(acc)
          for m in range(2):
              T.copy(A[k, m, 0], A_s)
              for i in T.Parallel(64): T.reducer_update(acc[0], A_s[i])

  The pipeline takes such a loop for one statement, and its copies may be asynchronous: then they
  are waited for where the pipeline's next statement begins. Seen on 0.1.9 to 0.1.15, in kernels
  without reducers, too.
- Where 0.1.8 specializes warps, copies in a loop inside a pipelined one, and in a loop of an odd
  number of turns inside any other. The parity of the phase that a turn waits for counts the turns
  of the outer loop twice: from its second turn on nobody waits for the copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import ladder, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes.collect import Collected
from reducer_compat.passes.participants import is_pipelined
from reducer_compat.passes.sites import is_tile, mentions
from reducer_compat.passes.split import may_specialize


def refuse_nested(func: Any, collected: Collected) -> None:
    """See that copies are waited for, and go where they are read.

    Raises:
        UnfitError: another lowering has to be chosen.
    """
    pipelines = list(filter(is_pipelined, statements(func)))
    if pipelines and not ladder.gave_up(Feature.PIPELINED):
        reason = _unfit_for_stages(func, pipelines)
        if reason is not None:
            raise UnfitError(Feature.PIPELINED, reason, collected.kernel)
    target = func.attrs.get("target")
    if target is not None and may_specialize(target):
        reason = _unfit_for_rows(func, pipelines) if collected.rows else None
        reason = reason or _unfit_for_warps(func, pipelines)
        if reason is not None:
            raise UnfitError(Feature.SPECIALIZED, reason, collected.kernel)


def _unfit_for_stages(func: Any, pipelines: list[Any]) -> str | None:
    outside = list(_outside(func.body))
    for loop in pipelines:
        if any(map(_reads_its_copies, _loops_beside(loop.body))):
            return "a loop inside a pipelined loop copies a tile and reads it"
        copies = list(filter(_is_copy, tree.walk(loop.body)))
        if _fill_one_place(copies):
            return "a pipelined loop fills a tile twice"
        if any(mentions(stmt, _copied(copy)) for copy in copies for stmt in outside):
            return "a tile of a pipelined loop is used outside of it"
    if _share_among_stages(pipelines):
        return "pipelined loops of different stages copy to one tile"
    return None


def _share_among_stages(pipelines: list[Any]) -> bool:
    """Whether a tile would have other numbers of places in one loop than in another."""
    stages: dict[int, int | None] = {}
    for loop in pipelines:
        number = tree.constant(loop.annotations["num_stages"])
        if any(stages.setdefault(tile, number) != number for tile in _filled(loop)):
            return True
    return False


def _filled(loop: Any) -> set[int]:
    """The hashes of the tiles that a loop copies to."""
    return {hash(_copied(stmt)) for stmt in tree.walk(loop) if _is_copy(stmt)}


def _unfit_for_rows(func: Any, pipelines: list[Any]) -> str | None:
    copies = pipelines or (adapter().pipelines_late and any(map(_is_copy, statements(func))))
    return "a block of several dimensions copies by warps of its own" if copies else None


def _unfit_for_warps(func: Any, pipelines: list[Any]) -> str | None:
    if any(map(_copies_under_a_condition, pipelines)):
        return "a pipelined loop copies under a condition"
    if not adapter().pipelines_late:
        return None
    tiles = list(map(_filled, pipelines))
    if sum(map(len, tiles)) > len(set().union(*tiles)):
        return "two pipelined loops copy to one tile"
    for loop, pipelined in _inner_loops(func.body, None):
        if (pipelined or not _is_even(loop)) and any(map(_is_copy, _own(loop.body))):
            return f"a loop of {loop.extent} turns inside another loop has copies"
    return None


def _outside(stmt: Any) -> Iterator[Any]:
    """The statements that are in no pipelined loop."""
    if not is_pipelined(stmt):
        yield stmt
        for child in tree.children(stmt):
            yield from _outside(child)


def _fill_one_place(copies: list[Any]) -> bool:
    """Whether two copies go to the same part of a tile."""
    tiles = [hash(_copied(copy)) for copy in copies]
    if len(set(tiles)) == len(tiles):
        return False
    places = [(tile, _place(copy)) for tile, copy in zip(tiles, copies, strict=True)]
    return len(set(places)) < len(places)


def _place(copy: Any) -> str:
    """Where in a tile a copy goes, in words."""
    is_store = type(copy) is adapter().tir.BufferStore
    return str(copy.indices if is_store else copy.value.args[1])


def _copies_under_a_condition(stmt: Any) -> bool:
    """Whether a branch that threads take together has copies."""
    tir = adapter().tir
    if type(stmt) is tir.For and stmt.kind == tir.ForKind.PARALLEL:
        return False
    if type(stmt) is tir.IfThenElse and any(map(_is_copy, tree.walk(stmt))):
        return True
    return any(map(_copies_under_a_condition, tree.children(stmt)))


def _is_copy(stmt: Any) -> bool:
    return _copied(stmt) is not None


def _loops_beside(body: Any) -> Iterator[Any]:
    """The loops in the statements of a pipelined loop's body, where it has more than one."""
    while type(body) is not adapter().tir.SeqStmt:
        inside = tree.children(body)
        if len(inside) != 1 or _is_loop(body):
            return
        body = inside[0]
    yield from filter(_is_loop, tree.walk(body))


def _reads_its_copies(loop: Any) -> bool:
    inside = list(tree.walk(loop.body))
    copied = [data for data in map(_copied, inside) if data is not None]
    return any(_reads(stmt, data) for data in copied for stmt in inside)


def _reads(stmt: Any, data: Any) -> bool:
    """Whether a statement itself reads a buffer, other than to name where it copies to."""
    if _copied(stmt) is not None:
        return False
    loads = [load for expr in tree.expressions(stmt) for load in tree.loads(expr)]
    return any(load.buffer.data.same_as(data) for load in loads)


def _inner_loops(stmt: Any, pipelined: bool | None) -> Iterator[tuple[Any, bool]]:
    """The loops in other loops, and whether one of these is pipelined.

    `pipelined` says so of the loops around `stmt`; None where there are none.
    """
    if _is_loop(stmt):
        if pipelined is not None:
            yield stmt, pipelined
        pipelined = bool(pipelined) or is_pipelined(stmt)
    for child in tree.children(stmt):
        yield from _inner_loops(child, pipelined)


def _own(stmt: Any) -> Iterator[Any]:
    """The statements of a loop's body, without those of loops in it."""
    yield stmt
    if not _is_loop(stmt):
        for child in tree.children(stmt):
            yield from _own(child)


def _is_loop(stmt: Any) -> bool:
    """Whether a statement is a loop over time, of more than one turn."""
    tir = adapter().tir
    if type(stmt) is not tir.For or stmt.kind == tir.ForKind.PARALLEL:
        return False
    return tree.constant(stmt.extent) != 1


def _is_even(loop: Any) -> bool:
    turns = tree.constant(loop.extent)
    return turns is not None and turns % 2 == 0


def _copied(stmt: Any) -> Any:
    """The data of the shared memory that a statement fills from global memory, None for others."""
    tir = adapter().tir
    if type(stmt) is tir.BufferStore:
        read, written = tree.loads(stmt.value), stmt.buffer
    elif type(stmt) is tir.Evaluate and tree.callee(stmt.value).endswith("copy"):
        ends = tree.loads(stmt.value)
        read, written = ends[:1], ends[1].buffer if len(ends) == 2 else None
    else:
        return None
    if written is None or not is_tile(written):
        return None
    return written.data if any(str(one.buffer.scope()) == "global" for one in read) else None
