"""Find barriers that are waited for and that nobody arrives at, or everybody.

From 0.1.9 to 0.1.12 the producers of a warp-specialized pipeline that copies a contiguous tile in
bulk say how many bytes to expect at an mbarrier and do not arrive there, so its phase never ends,
and the consumers wait for ever, in kernels without reducers, too:

    mbarrier_expect_tx(full, 8192)          arrive_barrier_expect_tx(full, 8192) would do
    tma_load(A_s, A, full, 8192)

0.1.8 puts what it expects of a pipeline under a condition before the pipeline, where all producers
arrive, once, at a barrier that one of them is to arrive at in every turn: the block hangs.

    if bx == 0:
        arrive_barrier_expect_tx(full, 8192)
        for k in range(n):
            if elected: tma_load(A_s, A, full, 8192)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes.places import Place, overlap
from reducer_compat.passes.producers import ARRIVE, ELECT, WAIT
from reducer_compat.passes.specialized import is_scope

#: Operations on a barrier by which no thread arrives.
_IDLE = frozenset(
    (WAIT, "mbarrier_expect_tx", "ptx_init_barrier_thread_count", "tma_load", "tma_load_im2col")
)


def refuse_unending(func: Any, kernel: str) -> None:
    """See that somebody arrives at each barrier that is waited for in a kernel for the device.

    Raises:
        UnfitError: nobody does; without warp specialization there are none.
    """
    calls = list(_calls(func.body))
    waits = [place for name, places in calls if name == WAIT for place in places]
    if not waits:
        return
    reached = [place for name, places in calls if name not in _IDLE for place in places]
    for wait in waits:
        if not any(overlap(wait, place) for place in reached):
            raise UnfitError(
                Feature.SPECIALIZED,
                "TileLang has threads wait for a copy at a barrier that nobody arrives at",
                kernel,
            )


def refuse_crowded(func: Any, kernel: str) -> None:
    """See that one thread alone says how many bytes a warp-specialized kernel is to expect.

    Raises:
        UnfitError: all producers do.
    """
    launch = tree.thread_launch(func.body)
    if launch is None:
        return
    scopes = filter(is_scope, tree.walk(func.body))
    for branch in (part for scope in scopes for part in tree.children(scope.body)):
        if any(_expects(stmt) for stmt in _in_all(branch, launch.node.var)):
            raise UnfitError(
                Feature.SPECIALIZED,
                "TileLang has all producers arrive at a barrier that one is to arrive at",
                kernel,
            )


def _in_all(stmt: Any, thread: Any) -> Iterator[Any]:
    """The statements in one that no condition leaves to some of the threads that run it."""
    if type(stmt) is adapter().tir.IfThenElse:
        chosen = any(map(thread.same_as, tree.variables(stmt.condition)))
        if chosen or tree.callee(stmt.condition).endswith(ELECT):
            return
    yield stmt
    for child in tree.children(stmt):
        yield from _in_all(child, thread)


def _expects(stmt: Any) -> bool:
    return type(stmt) is adapter().tir.Evaluate and tree.callee(stmt.value).endswith(ARRIVE)


def _calls(body: Any) -> Iterator[tuple[str, list[Place]]]:
    """The operations of a kernel on barriers, by name, without the dialect."""
    for stmt in tree.walk(body):
        if type(stmt) is adapter().tir.Evaluate:
            places = [_place(load) for load in tree.loads(stmt.value) if _is_barrier(load)]
            if places:
                yield tree.operation(stmt.value), places


def _is_barrier(load: Any) -> bool:
    return str(load.buffer.scope()) == "shared.barrier"


def _place(load: Any) -> Place:
    """The elements of an mbarrier's array that a load may be of."""
    here = adapter()
    found = here.tvm.arith.Analyzer().const_int_bound(here.simplify(tree.items(load.indices)[0]))
    return hash(load.buffer.data), int(found.min_value), int(found.max_value)
