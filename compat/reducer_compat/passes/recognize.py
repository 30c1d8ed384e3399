"""Tell kernels with reducers of ours from those without, and refuse those that we cannot see into.

A kernel that was traced before us, or through an `alloc_reducer` that was imported by name
before us, holds TileLang's v1 reducers: up to 0.1.13 it would compile and count wrongly.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError

#: What TileLang's own `alloc_reducer` of v1 leaves on a block.
_V1 = "reducer_info"


def uses_reducers(func: Any) -> bool:
    """Whether a kernel has reducers of this package.

    Raises:
        ReducerError: it has reducers of a TileLang that has no v2.
    """
    foreign = False
    block = adapter().block
    for stmt in tree.walk(func.body):
        if marker.read(stmt) is not None:
            return True
        foreign = foreign or (type(stmt) is block and _V1 in stmt.annotations)
    if foreign and not adapter().native_v2:
        raise ReducerError(
            "RC002",
            "a reducer was made without reducer_compat, so its contributions cannot be told",
            kernel=str(func.attrs["global_symbol"]) if func.attrs else "",
            fix="import reducer_compat before the kernel is traced, and before any "
            "`from tilelang.language import ...`",
        )
    return False
