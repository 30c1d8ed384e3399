"""Keep TVM's HoistIfThenElse from kernels in which it would lose the other arm of a branch.

    for i: if A[i] > 0:                      if t == 0:
               if t == 0: x(i)      ->           for i: if A[i] > 0: x(i)
           else: y(i)                                   else: y(i)

It takes the inner condition out of the loop and drops what is left of the body where it does not
hold, an else around it too: every turn but the first does without `y`. In every release from 0.1.8
to 0.1.15, without reducers too, and after the last count.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter


def loses_an_arm(func: Any) -> bool:
    """Whether a branch with two arms holds another branch, in one of them."""
    branch = adapter().tir.IfThenElse
    return any(
        type(stmt) is branch
        and stmt.else_case is not None
        and any(
            type(inner) is branch
            for arm in (stmt.then_case, stmt.else_case)
            for inner in tree.walk(arm)
        )
        for stmt in tree.walk(func.body)
    )


def is_ssa(func: Any) -> bool:
    """Whether no variable is made twice.

    TileLang's LoopUnswitching copies a loop for each arm of a condition, with the values that it
    names (`v = A[i] + 1`), and the split of host and device stops at the second: 0.1.10 to 0.1.14.
    """
    return bool(adapter().tir.analysis.verify_ssa(func))


def with_own_variables(func: Any) -> Any:
    """A kernel with variables of its own for each copy of a loop."""
    here = adapter()
    only = here.tvm.IRModule({"kernel": func})
    return here.tir.transform.ConvertSSA()(only)["kernel"]
