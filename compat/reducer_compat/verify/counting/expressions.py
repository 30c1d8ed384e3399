"""The value of a TIR expression in every lane."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reducer_compat.simt import arith
from reducer_compat.simt.dtypes import cast, parse
from reducer_compat.simt.intrinsics import find_call, is_scalar, is_scalar_extern
from reducer_compat.simt.intrinsics.registry import EXTERN_CALLS
from reducer_compat.simt.lowering import CUDA
from reducer_compat.simt.report import UnsupportedError

from .lanes import Uncountable

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
    if name == "if_then_else":
        return _choose(machine, *node.args)
    known = is_scalar_extern(node) if name in EXTERN_CALLS else is_scalar(name)
    if not known:
        called = f"{name} of {node.args[0].value}" if name in EXTERN_CALLS else name
        raise Uncountable(f"the operation {called}")
    # The functions ask the compiler for their operands alone, and these here ignore the wave.
    operands: Any = _Operands(machine)
    wave: Any = None
    try:
        return find_call(operands, node)(wave)
    except UnsupportedError as error:
        raise Uncountable(str(error)) from error


class _Operands:
    """A compiler whose expressions have their values at once."""

    on = CUDA

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.tir = machine.tir

    def expr(self, node: Any) -> Callable[[Any], Any]:
        """The value of an operand, which is the same for every wave that may ask."""
        found = np.asarray(value(self._machine, node), dtype_of(node))[()]
        return lambda _: found


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
