"""The values of integer expressions, for many values of their variables at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reducer_compat import tree

Array = np.ndarray[Any, Any]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Min": np.minimum,
    "Max": np.maximum,
    "EQ": np.equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "And": np.logical_and,
}
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}


def evaluate(expr: Any, env: Sequence[tuple[Any, Array]]) -> Any:
    """The values of an integer expression, or of a comparison of integers.

    Raises:
        LookupError: it depends on something else than the variables of `env`.
    """
    value = tree.constant(expr)
    if value is not None:
        return value
    kind = type(expr).__name__
    if kind == "Cast":
        return evaluate(expr.value, env)
    if kind in _BINARY:
        return _BINARY[kind](evaluate(expr.a, env), evaluate(expr.b, env))
    if kind == "Call" and len(expr.args) == 2:
        return _CALLS[tree.operation(expr)](*(evaluate(arg, env) for arg in expr.args))
    for var, values in env:
        if var.same_as(expr):
            return values
    raise LookupError(kind)
