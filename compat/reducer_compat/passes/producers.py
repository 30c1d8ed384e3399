"""Let only the warp that issues copies run the producers' branch of a warp-specialized kernel.

TileLang makes a warpgroup of producers. Where copies go by TMA one thread issues them all, and the
other warps only wait, in every turn, until the consumers have released a buffer. Nobody waits for
these warps. One that is late by two turns of a buffer waits for a phase of the mbarrier that has
come and gone, since only its parity is told apart, and after the last turn it waits for ever:

    on an H200, GEMV of 16384 x 8192 halves in tiles of 32 x 8, several blocks a multiprocessor:
    the first launch ends, one of the next twenty does not (TileLang 0.1.15)

So on every release, where all that a producers' branch copies goes by TMA. Where it copies in other
ways, too, and on 0.1.8 where copies share a barrier, all producers arrive there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.specialized import WARP, is_scope

#: The call that is true in one thread of as many as its argument says, in their first warp.
ELECT = "tl_shuffle_elect"
WAIT = "mbarrier_wait_parity"
#: How the thread that copies says how many bytes to expect, and arrives.
ARRIVE = "arrive_barrier_expect_tx"


def leave_issuing(func: Any) -> Any:
    """A warp-specialized kernel, whose copies are left to the warp that issues them."""
    launch = tree.thread_launch(func.body)
    if launch is None:
        return func
    thread, whole = launch.node.var, func.body
    body = tree.replaced(whole, lambda stmt: _entered(stmt, thread, whole), "AttrStmt")
    return func if body.same_as(whole) else func.with_body(body)


def _entered(stmt: Any, thread: Any, whole: Any) -> Any:
    if not is_scope(stmt) or type(stmt.body) is not adapter().tir.IfThenElse:
        return None
    tir, parts = adapter().tir, stmt.body
    elsewhere = _Elsewhere(stmt, whole)
    producers = [_narrowed(part, thread, elsewhere) for part in (parts.then_case, parts.else_case)]
    branches = tir.IfThenElse(parts.condition, *producers, tree.span_of(parts))
    return tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, branches, tree.span_of(stmt))


def _narrowed(branch: Any, thread: Any, elsewhere: _Elsewhere) -> Any:
    """A branch that only issues copies, for one warp; any other as it is."""
    if branch is None:
        return None
    elected = map(_elected, tree.walk(branch))
    groups = {threads for threads in elected if threads is not None}
    if len(groups) != 1:
        return branch
    warps = -(-groups.pop() // WARP)

    def issuing(stmt: Any) -> Any:
        return adapter().tir.IfThenElse((thread // WARP) % warps == 0, stmt, None)

    if _only_issues(branch) and not elsewhere.reads(_written(branch)):
        return issuing(branch)
    return tree.replaced(branch, lambda stmt: _parted(stmt, issuing), "SeqStmt")


def _parted(sequence: Any, issuing: Callable[[Any], Any]) -> Any:
    """A sequence with what only issues copies left to one warp: copies that arrive by themselves,
    with the waits before them. At other barriers all threads arrive, and wait before they do.
    """
    parts: list[Any] = []
    for stmt in tree.items(sequence.seq):
        first = len(parts)
        if _arrives(stmt):
            while first and _is_wait(parts[first - 1]):
                first -= 1
            parts[first:] = [issuing(tree.sequence([*parts[first:], stmt]))]
        else:
            parts.append(stmt)
    return tree.sequence(parts)


def _arrives(stmt: Any) -> bool:
    """Whether a statement elects a thread of several warps, which arrives for all of them."""
    inside = tree.walk(stmt) if _elected(stmt) is not None else ()
    return any(_calls(one, ARRIVE) for one in inside)


def _is_wait(stmt: Any) -> bool:
    return _calls(stmt, WAIT)


def _calls(stmt: Any, name: str) -> bool:
    return type(stmt) is adapter().tir.Evaluate and tree.callee(stmt.value).endswith(name)


def _elected(stmt: Any) -> int | None:
    """Of how many threads the statement elects one; None where it elects none of several warps."""
    if type(stmt) is not adapter().tir.IfThenElse or stmt.else_case is not None:
        return None
    if not tree.callee(stmt.condition).endswith(ELECT):
        return None
    threads = tree.constant(stmt.condition.args[0])
    return threads if threads and threads > WARP else None


def _only_issues(stmt: Any) -> bool:
    """Whether all that runs in more than one thread is waiting, control flow by loops, and
    counting in registers and variables."""
    tir = adapter().tir
    if _elected(stmt) is not None or type(stmt).__name__ == "Bind":
        return True
    if type(stmt) is tir.Evaluate:
        return _is_wait(stmt) or tree.is_nothing(stmt)
    if type(stmt) is tir.BufferStore:
        return str(stmt.buffer.scope()) in ("local", "local.var")
    if type(stmt) is tir.IfThenElse or not (parts := tree.children(stmt)):
        return False
    return all(_only_issues(part) for part in parts)


def _written(branch: Any) -> list[Any]:
    """The data of the registers that a branch stores to."""
    store = adapter().tir.BufferStore
    return [stmt.buffer.data for stmt in tree.walk(branch) if type(stmt) is store]


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """What is outside of a statement that producers and consumers share: what a thread writes in
    one branch of it, it reads in no other."""

    scope: Any
    whole: Any

    def reads(self, registers: list[Any]) -> bool:
        """Whether one of some buffers is loaded there."""
        return bool(registers) and _reads(self.scope, registers) != _reads(self.whole, registers)


def _reads(stmt: Any, registers: list[Any]) -> int:
    """How often a statement loads one of some buffers."""
    return sum(
        load.buffer.data.same_as(data)
        for one in tree.walk(stmt)
        for expr in tree.expressions(one)
        for load in tree.loads(expr)
        for data in registers
    )
