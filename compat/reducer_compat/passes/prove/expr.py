"""Index expressions and conditions of TIR as functions of numpy arrays.

What is loaded from memory is *data*: it is not known here. As a number, data is one number that
stands for all of it; a condition that depends on data may hold and may not, so both is counted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from reducer_compat.passes.prove.lanes import DATA, SIZE, Array, Lanes

Run = Callable[[Lanes], Any]


@dataclass(frozen=True, slots=True)
class Code:
    """A number for each lane; `data` where it depends on what memory holds."""

    run: Run
    data: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    """In which lanes a condition may hold, and in which it may not."""

    may: Run
    may_not: Run
    data: bool


@dataclass(slots=True)
class Scope:
    """What is known of variables while a kernel is read.

    Attributes:
        data: variables that hold data.
        bound: variables that a statement around them binds; others are sizes given at launch.
        sizes: the names of the sizes that were met.
    """

    data: set[int] = field(default_factory=set)
    bound: set[int] = field(default_factory=set)
    sizes: set[str] = field(default_factory=set)

    def number(self, expr: Any) -> Code:
        """An expression as a number."""
        if isinstance(expr, int):
            return _constant(expr)
        build = _NUMBERS.get(expr.type)
        return Code(_data, True) if build is None else build(self, expr)

    def truth(self, expr: Any) -> Truth:
        """An expression as a condition."""
        kind = expr.type
        if kind in ("And", "Or"):
            return _both(self.truth(expr.a), self.truth(expr.b), kind == "And")
        if kind == "Not":
            inner = self.truth(expr.a)
            return Truth(inner.may_not, inner.may, inner.data)
        if kind == "Call" and op_name(expr) == "likely":
            return self.truth(expr.args[0])
        code = self.number(expr)
        if code.data:
            return Truth(_always, _always, True)
        return Truth(code.run, lambda lanes: np.logical_not(code.run(lanes)), False)


def op_name(call: Any) -> str:
    """The operator of a call without TVM's namespace, which differs between releases."""
    name = str(getattr(call.op, "name", "") or getattr(call.op, "name_hint", ""))
    for family in ("tirx.", "tir."):
        name = name.removeprefix(family)
    return name


def array(value: Any, count: int) -> Array:
    """`value` with one element for each lane."""
    return value if isinstance(value, np.ndarray) else np.full(count, value)


def _data(lanes: Lanes) -> Any:
    return lanes.read(DATA)


def _always(lanes: Lanes) -> bool:
    return True


def _both(left: Truth, right: Truth, conjunction: bool) -> Truth:
    def joined(one: Run, other: Run, all_of: bool) -> Run:
        combine = np.logical_and if all_of else np.logical_or
        return lambda lanes: combine(one(lanes), other(lanes))

    return Truth(
        joined(left.may, right.may, conjunction),
        joined(left.may_not, right.may_not, not conjunction),
        left.data or right.data,
    )


@lru_cache(maxsize=1024, typed=True)
def _constant(value: Any) -> Code:
    return Code(lambda lanes: value)


def _literal(scope: Scope, expr: Any) -> Code:
    return _constant(expr.value)


def _variable(scope: Scope, expr: Any) -> Code:
    key = expr.key
    if key in scope.bound:
        return Code(lambda lanes: lanes.read(key), key in scope.data)
    scope.sizes.add(str(expr.name))
    return Code(lambda lanes: lanes.read(SIZE))


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Scope, Any], Code]:
    def build(scope: Scope, expr: Any) -> Code:
        return _apply(function, scope.number(expr.a), scope.number(expr.b))

    return build


def _apply(function: Callable[[Any, Any], Any], left: Code, right: Code) -> Code:
    one, other = left.run, right.run
    return Code(lambda lanes: function(one(lanes), other(lanes)), left.data or right.data)


def _cast(scope: Scope, expr: Any) -> Code:
    return scope.number(expr.value)


def _negation(scope: Scope, expr: Any) -> Code:
    inner = scope.number(expr.a)
    return Code(lambda lanes: np.logical_not(inner.run(lanes)), inner.data)


def _choice(condition: Code, left: Code, right: Code) -> Code:
    def run(lanes: Lanes) -> Any:
        return np.where(condition.run(lanes), left.run(lanes), right.run(lanes))

    return Code(run, condition.data or left.data or right.data)


def _select(scope: Scope, expr: Any) -> Code:
    return _choice(*map(scope.number, (expr.condition, expr.true_value, expr.false_value)))


def _call(scope: Scope, expr: Any) -> Code:
    name = op_name(expr)
    if name == "if_then_else":
        return _choice(*map(scope.number, expr.args))
    if name in ("likely", "reinterpret"):
        return scope.number(expr.args[0])
    function = _OPERATORS.get(name)
    if function is None or len(expr.args) != 2:
        return Code(_data, True)
    return _apply(function, *map(scope.number, expr.args))


def _truncated(a: Any, b: Any) -> Any:
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _remainder(a: Any, b: Any) -> Any:
    return a - _truncated(a, b) * b


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
}

_NUMBERS: dict[str, Callable[[Scope, Any], Code]] = {
    "IntImm": _literal,
    "FloatImm": _literal,
    "Var": _variable,
    "SizeVar": _variable,
    "Cast": _cast,
    "Not": _negation,
    "Select": _select,
    "Call": _call,
    "Div": _binary(_truncated),
    "Mod": _binary(_remainder),
    "Min": _binary(np.minimum),
    "Max": _binary(np.maximum),
    "And": _binary(np.logical_and),
    "Or": _binary(np.logical_or),
    **{
        name: _binary(function)
        for name, function in {
            "Add": operator.add,
            "Sub": operator.sub,
            "Mul": operator.mul,
            "FloorDiv": operator.floordiv,
            "FloorMod": operator.mod,
            "EQ": operator.eq,
            "NE": operator.ne,
            "LT": operator.lt,
            "LE": operator.le,
            "GT": operator.gt,
            "GE": operator.ge,
        }.items()
    },
}

__all__ = ["Code", "Hashable", "Run", "Scope", "Truth", "array", "op_name"]
