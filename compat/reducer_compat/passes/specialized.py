"""What warp specialization leaves in a kernel, and how TileLang is told not to."""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature

#: The attribute that TileLang puts around the two branches of a warp-specialized kernel.
SCOPE = "kWarpSpecializationScope"
#: TileLang's pass config that turns it off.
DISABLED = "tl.disable_warp_specialized"
#: Threads that a barrier counts together (PTX ISA, barrier: a multiple of the warp size).
WARP = 32


def is_scope(stmt: Any) -> bool:
    """Whether a statement holds the two branches of a warp-specialized kernel."""
    return type(stmt) is adapter().tir.AttrStmt and stmt.attr_key == SCOPE


def branch_threads(scope: Any) -> tuple[int, ...]:
    """How many threads each branch of a warp-specialized kernel has."""
    return tuple(tree.constant(threads) or 0 for threads in tree.items(scope.node))


def refuse_divided_warps(func: Any, kernel: str) -> None:
    """See that the threads of each branch are whole warps: no others have a barrier of their own.

    Up to 0.1.12 TileLang leaves theirs out, later it refuses the kernel.

    Raises:
        UnfitError: they are not.
    """
    for scope in filter(is_scope, statements(func)):
        divided = [threads for threads in branch_threads(scope) if threads % WARP]
        if divided:
            raise UnfitError(
                Feature.SPECIALIZED,
                f"{divided[0]} threads beside others have no barrier of their own",
                kernel,
            )


def is_specialized(func: Any) -> bool:
    """Whether TileLang has specialized the warps of a kernel."""
    return any(map(is_scope, statements(func)))
