"""TIR expressions as closures over waves."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import access, arith
from .dtypes import DType, cast, parse
from .memory import Pointer
from .program import Value
from .report import UnsupportedError
from .wave import Wave

if TYPE_CHECKING:
    from .compile import Compiler


def compile_expr(c: Compiler, node: Any) -> Value:
    """The closure that evaluates a TIR expression on a wave."""
    build = _BUILDERS.get(type(node).__name__)
    if build is None:
        raise UnsupportedError(f"the expression {type(node).__name__}", str(node))
    return build(c, node)


def constant(node: Any) -> int | None:
    """The value of an integer literal, else None."""
    return int(node.value) if type(node).__name__ == "IntImm" else None


def literal(value: Any) -> Value:
    """A closure that yields one value."""
    return lambda w: value


def as_vector(value: Any, lanes: int) -> Any:
    """A value of a scalar expression as a column that broadcasts against vectors."""
    if lanes == 1:
        return value
    array = np.asarray(value)
    return array.reshape(1, 1) if array.ndim == 0 else array[:, None] if array.ndim == 1 else array


# -- leaves -----------------------------------------------------------------------------------


def _imm(c: Compiler, node: Any) -> Value:
    dtype = parse(str(node.dtype))
    return literal(_typed(node.value, dtype))


def _typed(value: Any, dtype: DType) -> Any:
    if dtype.numpy.kind in "iu":
        bits = int(value) & ((1 << (8 * dtype.itemsize)) - 1)
        return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype.numpy)[0]
    return cast(np.float64(value), dtype.numpy) if dtype.numpy.kind != "b" else np.bool_(value)


def _string(c: Compiler, node: Any) -> Value:
    return literal(str(node.value))


def _var(c: Compiler, node: Any) -> Value:
    slot = c.slot_of(node)
    return lambda w: w.env[slot]


# -- arithmetic -------------------------------------------------------------------------------


def _binary(fn: Callable[[Any, Any], Any]) -> Callable[[Compiler, Any], Value]:
    def build(c: Compiler, node: Any) -> Value:
        a, b = c.expr(node.a), c.expr(node.b)
        return lambda w: fn(a(w), b(w))

    return build


def _division(fn: Callable[[Any, Any], Any]) -> Callable[[Compiler, Any], Value]:
    def build(c: Compiler, node: Any) -> Value:
        a, b = c.expr(node.a), c.expr(node.b)
        if constant(node.b) or parse(str(node.dtype)).numpy.kind not in "iu":
            return lambda w: fn(a(w), b(w))
        return lambda w: fn(a(w), _nonzero(w, b(w)))

    return build


def _nonzero(wave: Wave, divisor: Any) -> Any:
    zero = np.asarray(divisor == 0)
    if not zero.any():
        return divisor
    wave.m.fault(wave, "division-by-zero", zero, lambda p, e: "divides an integer by zero")
    return np.where(zero, divisor.dtype.type(1), divisor)


def _not(c: Compiler, node: Any) -> Value:
    a = c.expr(node.a)
    return lambda w: np.logical_not(a(w))


def _lazy(is_and: bool) -> Callable[[Compiler, Any], Value]:
    def build(c: Compiler, node: Any) -> Value:
        a, b = c.expr(node.a), c.expr(node.b)
        if c.is_pure(node.b) or parse(str(node.dtype)).lanes > 1:
            both = np.logical_and if is_and else np.logical_or
            return lambda w: both(a(w), b(w))
        other = literal(np.bool_(not is_and))
        return (
            (lambda w: choose(w, a(w), b, other))
            if is_and
            else (lambda w: choose(w, a(w), other, b))
        )

    return build


def _cast(c: Compiler, node: Any) -> Value:
    value, target = c.expr(node.value), parse(str(node.dtype)).numpy
    return lambda w: cast(value(w), target)


def _select(c: Compiler, node: Any) -> Value:
    return select(c, node.condition, node.true_value, node.false_value)


def select(c: Compiler, condition: Any, then: Any, other: Any) -> Value:
    """`condition ? then : other`; an arm is evaluated only in the lanes that take it."""
    test, a, b = c.expr(condition), c.expr(then), c.expr(other)
    lanes = parse(str(then.dtype)).lanes if str(then.dtype) != "handle" else 1
    if parse(str(condition.dtype)).lanes > 1:
        return lambda w: _choose_elements(w, test(w), a, b)
    if c.is_pure(then) and c.is_pure(other):
        return lambda w: _where(as_vector(test(w), lanes), a(w), b(w))
    return lambda w: choose(w, test(w), a, b)


def _where(test: Any, then: Any, other: Any) -> Any:
    array: Any = np.where(test, then, other)
    return array[()]


def choose(wave: Wave, test: Any, then: Value, other: Value) -> Any:
    """Per lane, the value of one of two expressions, each evaluated only where it is taken."""
    if np.ndim(test) == 0 or test.all() or not test.any():
        return (then if np.all(test) else other)(wave)
    yes, no = then(wave.sub(test)), other(wave.sub(~test))
    tail = np.broadcast_shapes(np.shape(yes)[1:], np.shape(no)[1:])
    out = np.empty((wave.n, *tail), np.asarray(yes).dtype)
    out[test], out[~test] = yes, no
    return out


def _choose_elements(wave: Wave, test: Any, then: Value, other: Value) -> Any:
    saved = wave.elements
    mask = np.broadcast_to(test, (wave.n, test.shape[-1]))
    wave.elements = mask
    yes = then(wave)
    wave.elements = ~mask
    no = other(wave)
    wave.elements = saved
    return np.where(test, yes, no)


# -- vectors ----------------------------------------------------------------------------------


def _ramp(c: Compiler, node: Any) -> Value:
    base, stride, lanes = c.expr(node.base), c.expr(node.stride), int(node.lanes)
    dtype = parse(str(node.base.dtype)).numpy
    steps = np.arange(lanes, dtype=dtype)
    return lambda w: as_vector(base(w), lanes) + as_vector(stride(w), lanes) * steps


def _broadcast(c: Compiler, node: Any) -> Value:
    value, lanes = c.expr(node.value), int(node.lanes)

    def run(w: Wave) -> Any:
        column = as_vector(value(w), lanes)
        return (
            np.broadcast_to(column, (len(column), lanes))
            if column.shape[-1] == 1
            else _repeat(column, lanes)
        )

    return run


def _repeat(vector: Any, lanes: int) -> Any:
    return np.tile(vector, (1, lanes // vector.shape[-1]))


def _shuffle(c: Compiler, node: Any) -> Value:
    parts = [(c.expr(v), parse(str(v.dtype)).lanes) for v in node.vectors]
    picks = [p for p in map(constant, node.indices) if p is not None]
    if len(picks) != len(node.indices):
        raise UnsupportedError("a shuffle with computed indices", str(node))

    def run(w: Wave) -> Any:
        columns = [np.broadcast_to(as_vector(v(w), 2), (w.n, lanes)) for v, lanes in parts]
        joined = np.concatenate(columns, axis=1)[:, picks]
        return joined if len(picks) > 1 else joined[:, 0]

    return run


# -- memory -----------------------------------------------------------------------------------


def _load(c: Compiler, node: Any) -> Value:
    if getattr(node, "predicate", None) is not None:
        raise UnsupportedError("a load with a predicate", str(node))
    slot, index, dtype, limit = buffer_access(c, node.buffer, node.indices)
    scalar = parse(str(node.dtype)).lanes == 1
    if scalar:
        return lambda w: access.load(w, w.env[slot], index(w), dtype, limit(w))
    return lambda w: _rows(access.load(w, w.env[slot], index(w), dtype, limit(w)))


def _rows(values: Any) -> Any:
    return values if values.ndim == 2 else values[:, None]


def buffer_access(
    c: Compiler, buffer: Any, indices: Any
) -> tuple[int, Value, np.dtype[Any], Callable[[Wave], int | None]]:
    """Slot of the pointer, element index, element dtype, and element count of a buffer's access."""
    element = parse(str(buffer.dtype))
    slot = c.slot_of(buffer.data)
    index = _linear(c, buffer, indices)
    if element.lanes > 1:
        index = _inside(index, element.lanes)
    return slot, index, element.numpy, c.limit_of(buffer, element.lanes)


def _linear(c: Compiler, buffer: Any, indices: Any) -> Value:
    parts = [c.expr(i) for i in indices]
    vector = any(parse(str(i.dtype)).lanes > 1 for i in indices)
    if len(parts) == 1:
        return parts[0]
    strides = [c.expr(s) for s in c.strides_of(buffer)]

    def run(w: Wave) -> Any:
        total: Any = np.int64(0)
        for part, stride in zip(parts, strides, strict=True):
            value = part(w)
            total = total + (as_vector(value, 2) if vector else value) * stride(w)
        return total

    return run


def _inside(index: Value, lanes: int) -> Value:
    steps = np.arange(lanes)

    def run(w: Wave) -> Any:
        first = np.asarray(index(w), np.int64)
        if first.ndim == 2:
            return (first[..., None] * lanes + steps).reshape(len(first), -1)
        return as_vector(first * lanes, 2) + steps

    return run


def pointer_at(c: Compiler, load: Any) -> Value:
    """The address of a buffer element: `address_of(buffer[i])`."""
    slot, index, dtype, _ = buffer_access(c, load.buffer, load.indices)
    size = dtype.itemsize

    def run(w: Wave) -> Pointer:
        p: Pointer = w.env[slot]
        first = np.asarray(index(w), np.int64)
        first = first[:, 0] if first.ndim == 2 else first
        return Pointer(p.storage, p.offset + first[()] * size, dtype)

    return run


# -- calls ------------------------------------------------------------------------------------


def _call(c: Compiler, node: Any) -> Value:
    return c.call(node)


def _let(c: Compiler, node: Any) -> Value:
    slot, value = c.slot_of(node.var, fresh=True), c.expr(node.value)
    body = c.expr(node.body)

    def run(w: Wave) -> Any:
        w.env[slot] = value(w)
        return body(w)

    return run


_BUILDERS: dict[str, Callable[[Any, Any], Value]] = {
    "IntImm": _imm,
    "FloatImm": _imm,
    "StringImm": _string,
    "Var": _var,
    "SizeVar": _var,
    "Add": _binary(operator.add),
    "Sub": _binary(operator.sub),
    "Mul": _binary(arith.multiply),
    "Div": _division(arith.truncate_divide),
    "Mod": _division(arith.truncate_remainder),
    "FloorDiv": _division(arith.floor_divide),
    "FloorMod": _division(arith.floor_remainder),
    "Min": _binary(arith.minimum),
    "Max": _binary(arith.maximum),
    "EQ": _binary(operator.eq),
    "NE": _binary(operator.ne),
    "LT": _binary(operator.lt),
    "LE": _binary(operator.le),
    "GT": _binary(operator.gt),
    "GE": _binary(operator.ge),
    "And": _lazy(True),
    "Or": _lazy(False),
    "Not": _not,
    "Cast": _cast,
    "Select": _select,
    "Ramp": _ramp,
    "Broadcast": _broadcast,
    "Shuffle": _shuffle,
    "BufferLoad": _load,
    "Call": _call,
    "Let": _let,
}
