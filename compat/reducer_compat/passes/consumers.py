"""Keep with the consumers what they copy to a fragment, or from one.

From 0.1.9 on warp specialization moves what a pipelined loop does before its consumers first wait
for a tensor copy to the producers, where all of it reads global memory or writes shared memory. It
takes a copy to a fragment for such, gives the producers a fragment of their own, and the consumers
read one that nobody wrote:

    for k in T.Pipelined(n):               producers                   consumers
        T.copy(A[k], a)                    T.copy(A[k], a_producer_ws)
        T.copy(B[k], b_shared)             copy B[k] by TMA            wait
        for i in T.Parallel(m): ...                                    read a[i], b_shared[i]

One statement that is no copy keeps all that is there with the consumers. So where the pass has made
such a fragment, it runs once more with a marker before every statement that uses it.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes.participants import is_pipelined
from reducer_compat.passes.sites import is_fragment

#: What the name of the marker is, and that of a producers' own buffer ends in.
_KIND = "stay"
_CLONE = "_producer_ws"


def withheld(func: Any) -> list[str]:
    """The names of the fragments of which producers use one of their own."""
    buffers = list(tree.allocated(statements(func)))
    kept = {str(buffer.name) for buffer in buffers}
    names = (str(buffer.name) for buffer in filter(is_fragment, buffers))
    return [name for name in names if f"{name}{_CLONE}" in kept]


def refuse_withheld(func: Any, kernel: str) -> None:
    """See that producers use no fragment of the consumers'.

    Raises:
        UnfitError: they use one.
    """
    for name in withheld(func):
        raise UnfitError(Feature.SPECIALIZED, f"the producers keep the copy to {name}", kernel)


def held(func: Any, names: list[str]) -> Any:
    """The kernel with a marker in its pipelined loops before what uses one of some fragments."""
    found = [one for one in tree.allocated(tree.walk(func.body)) if str(one.name) in names]
    data = [buffer.data for buffer in found]

    def pipelined(stmt: Any) -> Any:
        if not is_pipelined(stmt):
            return None
        body = tree.transform(stmt.body, lambda one: _sequence(one, data))
        return adapter().for_loop(stmt, body=body)

    return tree.rewritten(func, pipelined)


def freed(func: Any) -> Any:
    """The kernel without these markers."""
    return tree.rewritten(func, lambda stmt: tree.nothing() if _is_mark(stmt) else None)


def _marked(stmt: Any, data: list[Any]) -> tuple[Any, ...]:
    """A statement of a pipelined loop, behind a marker where it uses one of some buffers."""
    inside = tree.transform(stmt, lambda one: _sequence(one, data))
    is_user = any(_reads(one, data) for one in tree.walk(stmt))
    return (adapter().tir.Evaluate(marker.build(_KIND)), inside) if is_user else (inside,)


def _sequence(stmt: Any, data: list[Any]) -> Any:
    if type(stmt) is not adapter().tir.SeqStmt:
        return None
    return tree.sequence(part for one in tree.items(stmt.seq) for part in _marked(one, data))


def _reads(stmt: Any, data: list[Any]) -> bool:
    loads = (load for expr in tree.expressions(stmt) for load in tree.loads(expr))
    return any(load.buffer.data.same_as(one) for load in loads for one in data)


def _is_mark(stmt: Any) -> bool:
    found = marker.read(stmt)
    return found is not None and found.kind == _KIND
