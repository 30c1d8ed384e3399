"""Turn the updates that waited for their loop's layout into code, after `LowerTileOp`.

    if owner: partial(sum, p, index, v)     ->     if owner: p[index] = p[index] + v

A loop that TileLang vectorized around such an update becomes an ordinary one: its lanes would
accumulate into the same partial.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.passes import build
from reducer_rules.monoid import Op


def emit(func: Any) -> Any:
    """The kernel without markers."""
    if any(marker.read(stmt) is not None for stmt in statements(func)):
        return tree.rewritten(func, _enter)
    return func


def _enter(stmt: Any) -> Any:
    found = marker.read(stmt)
    if found is not None and found.kind == "hold":
        return tree.nothing()
    if found is not None and found.kind == "partial":
        return build.accumulate(
            Op(found.text(0)), found.args[1].buffer, found.args[2], found.args[3]
        )
    kinds = adapter().tir.ForKind
    if type(stmt) is adapter().tir.For and stmt.kind == kinds.VECTORIZED and _holds(stmt):
        body = tree.transform(stmt.body, _enter)
        return adapter().for_loop(stmt, kind=kinds.SERIAL, body=body)
    return None


def _holds(stmt: Any) -> bool:
    return any(marker.read(inner) is not None for inner in tree.walk(stmt))
