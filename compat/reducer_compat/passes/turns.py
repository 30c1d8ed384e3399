"""Keep the turns of a loop around a warp-specialized pipeline apart.

What such a loop copies to shared memory before its pipeline is copied by the first threads of the
block, producers among them, and read by the consumers. TileLang's ThreadSync puts no barrier
between the reads of one turn and the copies of the next where the consumers meet at a barrier of
their own after they have read, as they do in a second pipeline or in a collective: it takes
that for a barrier of the block, and the producers are not in it.

    for t in range(n):
        T.copy(A[t], A_s)                   threads 0 to 31, producers
        for k in T.Pipelined(...): ...      threads 128 to 159 read A_s
        for k in T.Pipelined(...): ...      threads 128 to 159 meet

Seen on 0.1.13 to 0.1.15, as a race in the interpreter: with two pipelines in kernels without
reducers, too, and with one where a reducer's exchange goes through shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.build import barrier
from reducer_compat.passes.specialized import is_scope


def part_turns(func: Any) -> Any:
    """A warp-specialized kernel with a barrier of the block before every turn of such loops."""
    return tree.rewritten(func, _enter)


def _enter(stmt: Any) -> Any:
    if is_scope(stmt):
        return stmt
    if not isinstance(stmt, adapter().tir.For):
        return None
    common = list(_common(stmt.body))
    filled = next(filter(None, map(_shared_target, common)), None)
    if filled is None or not any(is_scope(inner) for inner in common):
        return None
    return adapter().for_loop(stmt, body=tree.sequence([barrier(filled), stmt.body]))


def _common(stmt: Any) -> Iterator[Any]:
    """The statements of all threads, branches of producers and consumers as one each."""
    yield stmt
    if not is_scope(stmt):
        for child in tree.children(stmt):
            yield from _common(child)


def _shared_target(stmt: Any) -> Any:
    """The buffer of shared memory that a statement stores to."""
    if not isinstance(stmt, adapter().tir.BufferStore):
        return None
    return stmt.buffer if str(stmt.buffer.scope()).startswith("shared") else None
