"""Index expressions and conditions of TIR as functions of numpy arrays.

What is loaded from memory is *data*: it is not known here. As a number, data is one number that
stands for all of it; a condition that depends on data may hold and may not, so both is counted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from reducer_compat.passes.prove.lanes import DATA, Array, Lanes

Run = Callable[[Lanes], Any]

#: How many lengths are told apart.
MOST_LENGTHS = 8


class Code(NamedTuple):
    """An expression as a number for each lane; `data` where it depends on what memory holds."""

    expr: Any
    data: bool = False

    def run(self, lanes: Lanes) -> Any:
        return evaluate(self.expr, lanes)


class Truth(NamedTuple):
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
        sizes: the names of the sizes that were met, by the variable.
        lengths: the data variables of the tensors whose elements are taken for sizes.
    """

    data: set[int] = field(default_factory=set)
    bound: set[int] = field(default_factory=set)
    sizes: dict[int, str] = field(default_factory=dict)
    lengths: frozenset[int] = frozenset()

    def number(self, expr: Any) -> Code:
        """An expression as a number."""
        return Code(expr, self._is_data(expr))

    def _is_data(self, expr: Any) -> bool:
        kind = "IntImm" if isinstance(expr, int) else expr.type
        if kind == "IntImm":
            return False
        if kind in _VARIABLES:
            if expr.key not in self.bound:
                self.sizes[expr.key] = expr.name
            return expr.key in self.data
        if kind == "BufferLoad":
            return not self._is_length(expr)
        if kind not in _NUMBERS or (kind == "Call" and not _is_known(expr)):
            return True
        # Every part is asked, for its sizes.
        parts = [self._is_data(part) for part in _parts(expr)]
        return any(parts)

    def _is_length(self, load: Any) -> bool:
        data = load.buffer.data
        if data.key not in self.lengths:
            return False
        self.sizes[data.key] = load.buffer.name
        for index in load.indices:
            self._is_data(index)
        return True

    def truth(self, expr: Any) -> Truth:
        """An expression as a condition."""
        kind = expr.type
        if kind in ("And", "Or"):
            return _both(self.truth(expr.a), self.truth(expr.b), kind == "And")
        if kind == "Not":
            inner = self.truth(expr.a)
            return Truth(inner.may_not, inner.may, inner.data)
        if kind == "Call" and expr.name == "likely":
            return self.truth(expr.args[0])
        code = self.number(expr)
        if code.data:
            return Truth(_always, _always, True)
        return Truth(code.run, lambda lanes: np.logical_not(code.run(lanes)), False)


def length_of(size: int) -> int:
    """What the first length of a tensor is taken for, where sizes given at launch are `size`.

    The next one is twice that, and so on: a sequence from one to the next is as long as the first,
    and still ends within a size.
    """
    return (size + 1) // 2


def array(value: Any, count: int) -> Array:
    """`value` with one element for each lane."""
    return value if isinstance(value, np.ndarray) else np.full(count, value)


def evaluate(expr: Any, lanes: Lanes) -> Any:
    """The value of an expression: an array, or a number where all lanes agree."""
    if isinstance(expr, int):
        return expr
    return _NUMBERS.get(expr.type, _data)(expr, lanes)


def _data(expr: Any, lanes: Lanes) -> Any:
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


def _literal(expr: Any, lanes: Lanes) -> Any:
    return expr.value


def _variable(expr: Any, lanes: Lanes) -> Any:
    return lanes.read(expr.key)


def _loaded(expr: Any, lanes: Lanes) -> Any:
    """An element of a tensor of lengths."""
    try:
        size = lanes.read(expr.buffer.data.key)
    except KeyError:
        return _data(expr, lanes)
    place = sum(evaluate(index, lanes) for index in expr.indices)
    return length_of(size) * (1 + place % MOST_LENGTHS)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Lanes], Any]:
    return lambda expr, lanes: function(evaluate(expr.a, lanes), evaluate(expr.b, lanes))


def _cast(expr: Any, lanes: Lanes) -> Any:
    return evaluate(expr.value, lanes)


def _negation(expr: Any, lanes: Lanes) -> Any:
    return np.logical_not(evaluate(expr.a, lanes))


def _select(expr: Any, lanes: Lanes) -> Any:
    return _choice((expr.condition, expr.true_value, expr.false_value), lanes)


def _choice(parts: tuple[Any, ...], lanes: Lanes) -> Any:
    return np.where(*(evaluate(part, lanes) for part in parts))


def _is_known(call: Any) -> bool:
    return call.name in _CALLS or (call.name in _OPERATORS and len(call.args) == 2)


def _parts(expr: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = expr.operands
    return found[:1] if expr.type == "Call" and expr.name in _FIRST else found


def _call(expr: Any, lanes: Lanes) -> Any:
    name = expr.name
    if name == "if_then_else":
        return _choice(expr.args, lanes)
    if name in _FIRST:
        return evaluate(expr.args[0], lanes)
    if not _is_known(expr):
        return _data(expr, lanes)
    return _OPERATORS[name](*(evaluate(part, lanes) for part in expr.args))


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
#: Calls that are their first argument.
_FIRST = ("likely", "reinterpret")
_CALLS = ("if_then_else", *_FIRST)
_VARIABLES = ("Var", "SizeVar")

_NUMBERS: dict[str, Callable[[Any, Lanes], Any]] = {
    "IntImm": _literal,
    "FloatImm": _literal,
    "Var": _variable,
    "SizeVar": _variable,
    "BufferLoad": _loaded,
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

__all__ = ["Code", "Hashable", "Run", "Scope", "Truth", "array"]
