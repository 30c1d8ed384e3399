"""Let several blocks of a warp-specialized kernel share a multiprocessor.

TileLang gives the consumers of a warp-specialized kernel 240 registers a thread, which is what
the accumulators of a matrix product need: 256 threads then fill the register file, and one
block runs at a time. A kernel that multiplies no matrices needs a fraction of that, and hides
latency with more blocks. TileLang's own `T.no_set_max_nreg` says so; it stays unsaid where the
author wrote how many registers he wants.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.passes.specialized import is_scope

#: What the names of matrix instructions and of hints about registers contain.
_TELLING = ("mma", "gemm", "tcgen05", "nreg", "reg_alloc", "reg_dealloc")


def share_registers(func: Any) -> Any:
    """A warp-specialized kernel, asking for no more registers than its code uses."""
    if _speaks(func):
        return func
    body = tree.replaced(func.body, _entered, "AttrStmt")
    return func if body.same_as(func.body) else func.with_body(body)


def _speaks(func: Any) -> bool:
    """Whether the kernel multiplies matrices, or says how many registers it wants."""
    tir = adapter().tir
    calls = (
        stmt.value
        for stmt in statements(func)
        if type(stmt) is tir.Evaluate and type(stmt.value) is tir.Call
    )
    return any(word in name for call in calls for name in _names(call) for word in _TELLING)


def _names(call: Any) -> list[str]:
    """The name of what is called, for an external function too."""
    literals = [arg for arg in call.args if type(arg) is adapter().tir.StringImm]
    return [tree.callee(call), *(str(arg.value) for arg in literals)]


def _entered(stmt: Any) -> Any:
    if not is_scope(stmt):
        return None
    here = adapter()
    hint = here.tir.Call("handle", here.tvm.ir.Op.get("tl.no_set_max_nreg"), [])
    return tree.sequence([here.tir.Evaluate(hint), stmt])
