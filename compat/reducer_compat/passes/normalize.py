"""What the later passes need not know of.

    line(...)                                       gone: only `collect` reads it
    for v in T.vectorized(4): update(acc, ...)      for v in T.serial(4): update(acc, ...)

The lanes of a vectorized loop would accumulate into one partial at once.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.sites import updates_in


def normalize(func: Any) -> Any:
    """`func` without lines and without vectorized updates."""
    return tree.rewritten(func, _enter)


def _enter(stmt: Any) -> Any:
    tir = adapter().tir
    found = marker.read(stmt)
    if found is not None and found.kind == "line":
        return tree.nothing()
    vectorized = type(stmt) is tir.For and stmt.kind == tir.ForKind.VECTORIZED
    if vectorized and updates_in(stmt):
        body = tree.transform(stmt.body, _enter)
        return adapter().for_loop(stmt, kind=tir.ForKind.SERIAL, body=body)
    return None
