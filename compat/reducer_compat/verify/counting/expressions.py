"""The value of a TIR expression in every lane."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reducer_compat.simt import arith
from reducer_compat.simt.dtypes import cast, parse
from reducer_compat.simt.report import UnsupportedError

from .lanes import Array, Uncountable

if TYPE_CHECKING:
    from .machine import Machine

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": arith.multiply,
    "Div": arith.truncate_divide,
    "Mod": arith.truncate_remainder,
    "FloorDiv": arith.floor_divide,
    "FloorMod": arith.floor_remainder,
    "Min": arith.minimum,
    "Max": arith.maximum,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}
_BITS: Mapping[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "fabs": np.abs,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "nearbyint": np.rint,
    "pow": np.power,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}


def dtype_of(node: Any) -> np.dtype[Any]:
    """The numpy dtype of an expression or a buffer.

    Raises:
        Uncountable: its elements are no whole bytes, or it is a vector.
    """
    try:
        found = parse(str(node.dtype))
    except UnsupportedError as error:
        raise Uncountable(f"dtype {node.dtype}") from error
    if found.lanes > 1:
        raise Uncountable(f"vectors ({node.dtype})")
    return found.numpy


def value(machine: Machine, node: Any) -> Any:
    """The value of an expression: an array over the lanes' axes, or one scalar for all.

    Raises:
        Uncountable: a part of it is not known here.
    """
    name = type(node).__name__
    if name in ("IntImm", "FloatImm"):
        return dtype_of(node).type(node.value)
    if name == "Var":
        return machine.variable(node)
    if name in _BINARY:
        result = _BINARY[name](value(machine, node.a), value(machine, node.b))
        return np.asarray(result).astype(dtype_of(node))[()]
    special = _SPECIAL.get(name)
    if special is None:
        raise Uncountable(f"the expression {name}")
    return special(machine, node)


def _cast(machine: Machine, node: Any) -> Any:
    return cast(np.asarray(value(machine, node.value)), dtype_of(node))[()]


def _not(machine: Machine, node: Any) -> Any:
    return np.logical_not(value(machine, node.a))


def _and(machine: Machine, node: Any) -> Any:
    left = np.asarray(value(machine, node.a), np.bool_)
    with machine.lanes.where(left):
        return left & np.asarray(value(machine, node.b), np.bool_)


def _or(machine: Machine, node: Any) -> Any:
    left = np.asarray(value(machine, node.a), np.bool_)
    with machine.lanes.where(~left):
        return left | np.asarray(value(machine, node.b), np.bool_)


def _select(machine: Machine, node: Any) -> Any:
    return _choose(machine, node.condition, node.true_value, node.false_value)


def _choose(machine: Machine, condition: Any, then: Any, otherwise: Any) -> Any:
    """Each arm is evaluated where it is chosen: the other may index outside an array."""
    chosen = np.asarray(value(machine, condition), np.bool_)
    with machine.lanes.where(chosen):
        left = value(machine, then)
    with machine.lanes.where(~chosen):
        right = value(machine, otherwise)
    return np.where(chosen, left, right)[()]


def _let(machine: Machine, node: Any) -> Any:
    machine.bind(node.var, node.value)
    return value(machine, node.body)


def _load(machine: Machine, node: Any) -> Any:
    indices = [value(machine, index) for index in node.indices]
    return machine.load(node.buffer, indices)


def _call(machine: Machine, node: Any) -> Any:
    name = machine.tir.op_name(node)
    plain = name.rsplit(".", 1)[-1]
    if plain == "if_then_else":
        return _choose(machine, *node.args)
    if plain in ("likely", "unlikely"):
        return value(machine, node.args[0])
    if plain == "infinity":
        return dtype_of(node).type(np.inf)
    if plain in ("bitwise_not",):
        return np.invert(value(machine, node.args[0]))
    if plain in _BITS:
        left, right = (value(machine, argument) for argument in node.args)
        return np.asarray(_BITS[plain](left, right)).astype(dtype_of(node))[()]
    function = _FUNCTIONS.get(plain.removeprefix("__"))
    if function is None:
        raise Uncountable(f"the operation {name}")
    return _applied(function, [value(machine, argument) for argument in node.args], node)


def _applied(function: Callable[..., Any], values: list[Any], node: Any) -> Any:
    """A function computed in float64 and rounded once."""
    result: Array = np.asarray(function(*(np.asarray(v, np.float64) for v in values)))
    return result.astype(dtype_of(node))[()]


_SPECIAL: Mapping[str, Callable[[Any, Any], Any]] = {
    "Cast": _cast,
    "Not": _not,
    "And": _and,
    "Or": _or,
    "Select": _select,
    "Let": _let,
    "BufferLoad": _load,
    "Call": _call,
}
