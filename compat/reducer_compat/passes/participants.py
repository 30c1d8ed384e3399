"""Keep threads that are no participants out of an epoch.

TileLang leaves what stands before a warp-specialized pipeline outside its two branches, where
the threads of the producer run it too and count on from the participants'. A condition on the
thread index would not survive: before warp specialization it is always true, and simplified
away. So it travels as an attribute, and becomes a condition once the threads are known:

    attr participants(tx, 128): ...      ->      if tx < 128: ...

In the branch of the consumers, and where nothing is specialized, TileLang drops it again.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.passes import build

ATTRIBUTE = "reducer_compat.participants"


def is_pipelined(stmt: Any) -> bool:
    """Whether a statement is a `T.Pipelined` loop; what is inside runs in the participants."""
    return type(stmt) is adapter().tir.For and "num_stages" in stmt.annotations


def participating(thread: Any, threads: int, body: Any) -> Any:
    """`body`, in the participants alone."""
    mark = marker.build("participants", thread, build.integer(threads))
    return adapter().tir.AttrStmt(thread, ATTRIBUTE, mark, body)


def narrowed(func: Any) -> Any:
    """The kernel with its attributes turned into conditions."""
    return tree.rewritten(func, _enter) if any(map(_is_mark, statements(func))) else func


def _is_mark(stmt: Any) -> bool:
    return type(stmt) is adapter().tir.AttrStmt and stmt.attr_key == ATTRIBUTE


def _enter(stmt: Any) -> Any:
    tir = adapter().tir
    if not _is_mark(stmt):
        return None
    thread, threads = marker.call_marker(stmt.value).args  # type: ignore[union-attr]
    return tir.IfThenElse(thread < threads, tree.transform(stmt.body, _enter), None)
