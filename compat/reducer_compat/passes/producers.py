"""Let only the warp that issues copies run the producers' branch of a warp-specialized kernel.

TileLang makes a warpgroup of producers. Where copies go by TMA one thread issues them all, and the
other warps only wait, in every turn, until the consumers have released a buffer. Nobody waits for
these warps. One that is late by two turns of a buffer waits for a phase of the mbarrier that has
come and gone, since only its parity is told apart, and after the last turn it waits for ever:

    on an H200, GEMV of 16384 x 8192 halves in tiles of 32 x 8, several blocks a multiprocessor:
    the first launch ends, one of the next twenty does not (TileLang 0.1.15)

So on every release, where all that a producers' branch copies goes by TMA; where it copies in other
ways, too, all of them arrive at the barrier that the consumers wait for.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.specialized import is_scope

WARP = 32
#: The call that is true in one thread of as many as its argument says, in their first warp.
ELECT = "tl_shuffle_elect"
WAIT = "mbarrier_wait_parity"


def leave_issuing(func: Any) -> Any:
    """A warp-specialized kernel, whose copies are left to the warp that issues them."""
    launch = tree.thread_launch(func.body)
    if launch is None:
        return func
    thread = launch.node.var
    body = tree.replaced(func.body, lambda stmt: _entered(stmt, thread), "AttrStmt")
    return func if body.same_as(func.body) else func.with_body(body)


def _entered(stmt: Any, thread: Any) -> Any:
    if not is_scope(stmt) or not isinstance(stmt.body, adapter().tir.IfThenElse):
        return None
    tir, parts = adapter().tir, stmt.body
    producers = [_narrowed(part, thread) for part in (parts.then_case, parts.else_case)]
    branches = tir.IfThenElse(parts.condition, *producers, tree.span_of(parts))
    return tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, branches, tree.span_of(stmt))


def _narrowed(branch: Any, thread: Any) -> Any:
    """A branch that only issues copies, for one warp; any other as it is."""
    if branch is None:
        return None
    elected = map(_elected, tree.walk(branch))
    groups = {threads for threads in elected if threads is not None}
    if len(groups) != 1 or not _only_issues(branch):
        return branch
    warps = -(-groups.pop() // WARP)
    return adapter().tir.IfThenElse((thread // WARP) % warps == 0, branch, None)


def _elected(stmt: Any) -> int | None:
    """Of how many threads the statement elects one; None where it elects none of several warps."""
    if not isinstance(stmt, adapter().tir.IfThenElse) or stmt.else_case is not None:
        return None
    if not tree.callee(stmt.condition).endswith(ELECT):
        return None
    threads = tree.constant(stmt.condition.args[0])
    return threads if threads and threads > WARP else None


def _only_issues(stmt: Any) -> bool:
    """Whether all that runs in more than one thread is waiting and control flow by loops."""
    tir = adapter().tir
    if _elected(stmt) is not None:
        return True
    if isinstance(stmt, tir.Evaluate):
        return tree.callee(stmt.value).endswith(WAIT) or tree.is_nothing(stmt)
    if isinstance(stmt, (tir.BufferStore, tir.IfThenElse)) or not (parts := tree.children(stmt)):
        return False
    return all(_only_issues(part) for part in parts)
