"""Keep off bulk stores what they cannot store.

A bulk store starts at multiples of 16 bytes of both memories and is as long (PTX ISA,
cp.async.bulk). To 0.1.12 TileLang stores a row of shared memory so on sm_90 whatever its length:

    T.copy(result, B[b : b + 1])            4 bytes, each at its own multiple of 4

Where a store is not seen to fit, its threads copy the elements.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes import build
from reducer_compat.passes.copies import BULK
from reducer_compat.passes.pieces import end_of
from reducer_compat.passes.sites import load_bytes

#: TileLang's annotation of a copy that is not to be made by the tensor memory accelerator.
_BY_THREADS = "disable_tma"


def by_threads(func: Any) -> Any:
    """A kernel before layout inference with such stores left to its threads."""
    return tree.rewritten(func, _enter)


def _enter(stmt: Any) -> Any:
    if type(stmt) is not adapter().tir.Evaluate or not _is_unfit(stmt.value):
        return None
    return build.annotated(stmt, _BY_THREADS, adapter().tir.IntImm("bool", 1))


def _is_unfit(copy: Any) -> bool:
    """Whether a copy goes from shared to global memory, and is not seen to fit a bulk store."""
    if tree.callee(copy) != "tl.tileop.copy":
        return False
    if [_scope(argument) for argument in tree.items(copy.args)[:2]] != ["shared", "global"]:
        return False
    ends = [end_of(argument) for argument in tree.items(copy.args)[:2]]
    return any(end is None or not end.allows(max(1, BULK // load_bytes(end.load))) for end in ends)


def _scope(region: Any) -> str:
    loads = tree.loads(region.args[0])
    return str(loads[0].buffer.scope()).partition(".")[0] if loads else ""
