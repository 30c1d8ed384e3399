"""Expressions of a kernel: indices, conditions and contributions.

An expression knows its text and its value. Values are one-dimensional numpy arrays, one element
for each point (an iteration of the loops around it), int64 or float64, and have to be exact:
`InexactError` is raised where a float of the declared dtype would round, or an integer overflow.
`IllegalError` is raised where the kernel is none that anyone may write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Points = np.ndarray

#: The greatest magnitude to which every whole number is exact.
EXACT = {
    "float16": 2**11,
    "bfloat16": 2**8,
    "float32": 2**24,
    "float64": 2**53,
    "int8": 2**7 - 1,
    "int16": 2**15 - 1,
    "int32": 2**31 - 1,
    "int64": 2**62,
    "uint8": 2**8 - 1,
    "uint16": 2**16 - 1,
    "uint32": 2**32 - 1,
}


class InexactError(Exception):
    """A value that depends on rounding, on overflow, or on the order of a sum."""


class IllegalError(Exception):
    """An access out of bounds or before anything was written, an output with holes, and so on."""


def is_float(dtype: str) -> bool:
    return "float" in dtype


@dataclass(frozen=True)
class Number:
    """A whole number."""

    value: int


@dataclass(frozen=True)
class Var:
    """A loop variable, or the block index `bx`."""

    name: str


@dataclass(frozen=True)
class Thread:
    """The index of the thread; only ever compared with 0."""


@dataclass(frozen=True)
class Load:
    """An element of a buffer, converted to `dtype` unless that is empty; two spellings."""

    buffer: str
    indices: tuple[Expr, ...]
    dtype: str = ""
    method: bool = False


@dataclass(frozen=True)
class Result:
    """An element of a finalized reducer."""

    reducer: str
    indices: tuple[Expr, ...]


@dataclass(frozen=True)
class Cast:
    """An index as a value of `dtype`."""

    dtype: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    """`+ - * // % < <= > == min max` of two operands; `dtype` bounds a value, "" an index."""

    op: str
    left: Expr
    right: Expr
    dtype: str = ""


@dataclass(frozen=True)
class Unary:
    """`-` or `abs`."""

    op: str
    operand: Expr
    dtype: str = ""


@dataclass(frozen=True)
class Select:
    """`T.if_then_else`."""

    condition: Expr
    then: Expr
    other: Expr


Expr = Number | Var | Thread | Load | Result | Cast | Binary | Unary | Select

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.mod,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    "==": np.equal,
    "min": np.minimum,
    "max": np.maximum,
}


@dataclass(frozen=True)
class Naming:
    """How a text spells the buffer that holds the result of a reducer."""

    result: Callable[[str], str]


def text(expr: Expr, naming: Naming) -> str:
    """The expression as TileLang source."""
    if isinstance(expr, Number):
        return str(expr.value)
    if isinstance(expr, Var):
        return expr.name
    if isinstance(expr, Thread):
        return "T.get_thread_binding()"
    if isinstance(expr, (Load, Result)):
        return _element(expr, naming)
    if isinstance(expr, Cast):
        return f'T.cast({text(expr.operand, naming)}, "{expr.dtype}")'
    if isinstance(expr, Unary):
        inner = text(expr.operand, naming)
        return f"T.abs({inner})" if expr.op == "abs" else f"-{_enclosed(expr.operand, naming)}"
    if isinstance(expr, Select):
        parts = (text(part, naming) for part in (expr.condition, expr.then, expr.other))
        return f"T.if_then_else({', '.join(parts)})"
    if expr.op in ("min", "max"):
        return f"T.{expr.op}({text(expr.left, naming)}, {text(expr.right, naming)})"
    return f"{_enclosed(expr.left, naming)} {expr.op} {_enclosed(expr.right, naming)}"


def _enclosed(expr: Expr, naming: Naming) -> str:
    inner = text(expr, naming)
    binary = isinstance(expr, Binary) and expr.op not in ("min", "max")
    negative = isinstance(expr, Unary) or (isinstance(expr, Number) and expr.value < 0)
    return f"({inner})" if binary or negative else inner


def _element(expr: Load | Result, naming: Naming) -> str:
    name = expr.buffer if isinstance(expr, Load) else naming.result(expr.reducer)
    element = f"{name}[{indices_text(expr.indices, naming)}]"
    if isinstance(expr, Result) or not expr.dtype:
        return element
    return (
        f'{element}.astype("{expr.dtype}")' if expr.method else f'T.cast({element}, "{expr.dtype}")'
    )


def indices_text(indices: tuple[Expr, ...], naming: Naming) -> str:
    return ", ".join(text(index, naming) for index in indices)


def require_inside(name: str, places: tuple[Points, ...], shape: tuple[int, ...]) -> None:
    """Raise `IllegalError` unless all of `places` are elements of `shape`."""
    if len(shape) != len(places):
        raise IllegalError(f"{name} has {len(shape)} axes")
    for place, extent in zip(places, shape, strict=True):
        if place.size and (place.min() < 0 or place.max() >= extent):
            raise IllegalError(f"{name} is accessed out of bounds")


@dataclass
class Memory:
    """The contents of buffers by name, and which of their elements nothing has written."""

    contents: dict[str, np.ndarray] = field(default_factory=dict)
    missing: dict[str, np.ndarray] = field(default_factory=dict)

    def hold(self, name: str, content: np.ndarray, written: bool) -> None:
        self.contents[name] = content
        self.missing[name] = np.full(content.shape, not written)

    def load(self, name: str, places: tuple[Points, ...]) -> Points:
        self._require(name, places)
        if self.missing[name][places].any():
            raise IllegalError(f"{name} is read before it is written")
        return np.asarray(self.contents[name][places])

    def store(self, name: str, places: tuple[Points, ...], values: Points) -> None:
        self._require(name, places)
        self.contents[name][places] = values
        self.missing[name][places] = False

    def _require(self, name: str, places: tuple[Points, ...]) -> None:
        if name not in self.contents:
            raise IllegalError(f"{name} has no value here")
        require_inside(name, places, self.contents[name].shape)


@dataclass(frozen=True)
class Scope:
    """What an expression is evaluated in: variables by point, and memory."""

    variables: Mapping[str, Points]
    memory: Memory
    count: int

    def under(self, mask: np.ndarray) -> Scope:
        """The points for which `mask` holds."""
        kept = {name: values[mask] for name, values in self.variables.items()}
        return Scope(kept, self.memory, int(mask.sum()))


def value(expr: Expr, scope: Scope) -> Points:
    """The value at every point of the scope.

    Raises:
        InexactError: some point's value is not exact.
        IllegalError: a load is out of bounds, or of something that was not written.
    """
    if isinstance(expr, Number):
        return np.full(scope.count, expr.value, np.int64)
    if isinstance(expr, Var):
        return scope.variables[expr.name]
    if isinstance(expr, Thread):
        return np.zeros(scope.count, np.int64)
    if isinstance(expr, (Load, Result)):
        name = expr.buffer if isinstance(expr, Load) else expr.reducer
        loaded = scope.memory.load(name, places(expr.indices, scope))
        return _checked(loaded, expr.dtype if isinstance(expr, Load) else "")
    if isinstance(expr, Cast):
        return _checked(value(expr.operand, scope), expr.dtype)
    if isinstance(expr, Unary):
        operand = value(expr.operand, scope)
        return _checked(np.abs(operand) if expr.op == "abs" else -operand, expr.dtype)
    if isinstance(expr, Select):
        condition = value(expr.condition, scope)
        return np.where(condition, value(expr.then, scope), value(expr.other, scope))
    left, right = value(expr.left, scope), value(expr.right, scope)
    return _checked(_OPERATIONS[expr.op](left, right), expr.dtype)


def places(indices: tuple[Expr, ...], scope: Scope) -> tuple[Points, ...]:
    """The value of each index at every point."""
    return tuple(value(index, scope) for index in indices)


def _checked(values: Points, dtype: str) -> Points:
    if not dtype or not values.size:
        return values
    least = 0 if dtype.startswith("u") else -EXACT[dtype]
    # Not the other way round, so that a NaN is refused as well.
    if not (values.min() >= least and values.max() <= EXACT[dtype]):
        raise InexactError(f"a value does not fit {dtype}")
    return values


def mentions(expr: Expr) -> set[str]:
    """The names of the variables, buffers and reducers in an expression."""
    if isinstance(expr, Var):
        return {expr.name}
    if isinstance(expr, (Load, Result)):
        name = expr.buffer if isinstance(expr, Load) else expr.reducer
        return {name}.union(*map(mentions, expr.indices))
    return set().union(*map(mentions, operands(expr)))


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one."""
    if isinstance(expr, (Load, Result)):
        return expr.indices
    if isinstance(expr, (Cast, Unary)):
        return (expr.operand,)
    if isinstance(expr, Binary):
        return (expr.left, expr.right)
    if isinstance(expr, Select):
        return (expr.condition, expr.then, expr.other)
    return ()
