"""Stores that combine: `acc[i] = acc[i] + v`, and what each iteration adds to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reducer_rules.monoid import Op

#: ufuncs with an `at` that combines one lane after the other.
UFUNCS: dict[Op, Any] = {
    Op.SUM: np.add,
    Op.PROD: np.multiply,
    Op.MAX: np.fmax,
    Op.MIN: np.fmin,
    Op.BITAND: np.bitwise_and,
    Op.BITOR: np.bitwise_or,
    Op.BITXOR: np.bitwise_xor,
}
_NODES = {"Add": Op.SUM, "Mul": Op.PROD, "Max": Op.MAX, "Min": Op.MIN}
_CALLS = {"bitwise_and": Op.BITAND, "bitwise_or": Op.BITOR, "bitwise_xor": Op.BITXOR}


def terms(tir: Any, expr: Any, is_self: Callable[[Any], bool]) -> tuple[Op, list[Any]] | None:
    """The operation of `self op a op b`, and `a`, `b`; a term to subtract comes as `(-, a)`.

    None where the element itself is not combined with the rest by one operation.
    """
    chain: list[Any] = []
    op: Op | None = None
    while not is_self(expr):
        if type(expr).__name__ == "Cast":
            expr = expr.value
            continue
        step = _step(tir, expr, is_self)
        if step is None or (op is not None and step[0] is not op):
            return None
        op, expr, rest = step
        chain.append(rest)
    return None if op is None else (op, chain)


def _step(tir: Any, expr: Any, is_self: Callable[[Any], bool]) -> tuple[Op, Any, Any] | None:
    """The operation, the operand that holds the element itself, and the other one."""
    name = type(expr).__name__
    op = _CALLS.get(tir.op_name(expr)) if name == "Call" else _NODES.get(name)
    if name == "Sub":
        return (Op.SUM, expr.a, ("-", expr.b)) if _only(tir, expr.a, expr.b, is_self) else None
    if op is None:
        return None
    left, right = expr.args if name == "Call" else (expr.a, expr.b)
    if _only(tir, left, right, is_self):
        return op, left, right
    return (op, right, left) if _only(tir, right, left, is_self) else None


def _only(tir: Any, mine: Any, other: Any, is_self: Callable[[Any], bool]) -> bool:
    def holds(expr: Any) -> bool:
        return any(is_self(node) for node in tir.nodes(expr))

    return holds(mine) and not holds(other)
