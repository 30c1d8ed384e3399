"""Keep apart what all threads of a warp-specialized kernel do in shared memory, and its branches.

What stands before a pipeline is copied to shared memory by the first threads of the block,
producers among them, and read by the consumers. TileLang's ThreadSync takes a barrier of one
branch for a barrier of the block, and leaves out another that is needed:

    for t in range(n):
        T.copy(A[t], A_s)                   threads 0 to 31, producers
        for k in T.Pipelined(...): ...      threads 128 to 159 read A_s
        for k in T.Pipelined(...): ...      threads 128 to 159 meet

- Between the reads of one turn and the copies of the next, where the consumers meet after they
  have read, as they do in a second pipeline or in a collective. Seen on 0.1.13 to 0.1.15, as a race
  in the interpreter: with two pipelines in kernels without reducers, too, and with one where a
  reducer's exchange goes through shared memory.
- Between the copies and the reads, where the producers meet before they copy tiles element by
  element (tiles that the tensor memory accelerator cannot copy). Seen on 0.1.13 to 0.1.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.build import barrier
from reducer_compat.passes.sites import is_tile
from reducer_compat.passes.specialized import is_scope


def part_turns(func: Any) -> Any:
    """A warp-specialized kernel with a barrier of the block before branches that may read what
    all threads stored, and before every turn of a loop around both."""
    if _filled(func.body) is None:
        return func
    return tree.rewritten(func, _enter)


def _enter(stmt: Any) -> Any:
    if is_scope(stmt):
        return stmt
    if type(stmt) is adapter().tir.SeqStmt:
        return _met(stmt)
    if type(stmt) is not adapter().tir.For:
        return None
    filled = _filled(stmt.body)
    if filled is None or not _branches(stmt.body):
        return None
    body = tree.transform(stmt.body, _enter)
    return adapter().for_loop(stmt, body=tree.sequence([barrier(filled), body]))


def _met(sequence: Any) -> Any:
    """A sequence with a barrier before branches that stores to shared memory stand before."""
    parts: list[Any] = []
    filled = None
    before = tree.children(sequence)
    for part in before:
        if filled is not None and _branches(part):
            parts.append(barrier(filled))
            filled = None
        parts.append(tree.transform(part, _enter))
        filled = _filled(part) or filled
    same = len(parts) == len(before) and all(map(is_, parts, before))
    return sequence if same else tree.sequence(parts, tree.span_of(sequence))


def _branches(stmt: Any) -> bool:
    return any(map(is_scope, _common(stmt)))


def _filled(stmt: Any) -> Any:
    """A buffer of shared memory that all threads store to; None where there is none."""
    return next(filter(None, map(_shared_target, _common(stmt))), None)


def _common(stmt: Any) -> Iterator[Any]:
    """The statements of all threads, branches of producers and consumers as one each."""
    yield stmt
    if not is_scope(stmt):
        for child in tree.children(stmt):
            yield from _common(child)


def _shared_target(stmt: Any) -> Any:
    """The buffer of shared memory that a statement stores to."""
    if type(stmt) is not adapter().tir.BufferStore:
        return None
    return stmt.buffer if is_tile(stmt.buffer) else None
