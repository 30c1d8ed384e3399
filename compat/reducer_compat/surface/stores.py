"""v1 stores, `acc[i] += v` and its kin, turned into updates while the kernel is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.surface.language import update_marker
from reducer_compat.surface.registry import Traced, location, mentions_reducer, traced
from reducer_rules.monoid import Op, integer_bounds, is_float
from reducer_rules.timeline import UpdateForm

_AUGMENTED = {
    "Add": Op.SUM,
    "Sub": Op.SUM,
    "Mult": Op.PROD,
    "BitAnd": Op.BITAND,
    "BitOr": Op.BITOR,
    "BitXor": Op.BITXOR,
}
_SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "LShift": "<<",
    "RShift": ">>",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
}
#: A combine by one of these that is not the reducer's own is a mistake in an update; by another
#: operation it is a store.
_MISTAKEN = frozenset({Op.SUM, Op.MAX, Op.MIN})


def assign_slice(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Builder.assign_slice` that recognizes stores to reducers."""

    def call(self: Any, lval: Any, sl: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        reducer = traced(lval)
        if reducer is None:
            _keep_line(value)
            return original(self, lval, sl, value, *args, **kwargs)
        update = _stored(reducer, lval, _indices(sl), value)
        if update is None and reducer.closed:
            _keep_line(marker.origin(lval))
            return original(self, lval, sl, value, *args, **kwargs)
        self.check_continue_break()
        marked = _store(lval, sl, "=", value) if update is None else update
        return adapter().evaluate(marked)

    return call


def aug_assign_slice(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Builder.aug_assign_slice` that recognizes updates of reducers."""

    def call(self: Any, op: str, target: Any, sl: Any, aug_value: Any) -> Any:
        reducer = traced(target)
        if reducer is None:
            _keep_line(aug_value)
            return original(self, op, target, sl, aug_value)
        update = _augmented(reducer, str(op), target, _indices(sl), aug_value)
        if update is None and reducer.closed:
            _keep_line(marker.origin(target))
            return original(self, op, target, sl, aug_value)
        self.check_continue_break()
        symbol = f"{_SYMBOLS.get(str(op), str(op))}="
        marked = _store(target, sl, symbol, aug_value) if update is None else update
        return adapter().evaluate(marked)

    return call


def evaluate(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Builder.eval` that keeps the line of a statement which reads a reducer."""

    def call(self: Any, value: Any) -> Any:
        if marker.call_marker(value) is None:
            _keep_line(value)
        return original(self, value)

    return call


def _keep_line(value: Any) -> None:
    """Tell the line of the statement being traced, if `value` reads a reducer in it."""
    if mentions_reducer(value):
        adapter().evaluate(marker.build("line", location()))


def _indices(sl: Any) -> tuple[Any, ...]:
    return tuple(sl) if isinstance(sl, (tuple, list)) else (sl,)


def _plain(indices: tuple[Any, ...]) -> bool:
    tir = adapter().tir
    return all(isinstance(index, (int, tir.PrimExpr)) for index in indices)


def _combines(reducer: Traced, combine: Op) -> bool:
    """Whether a combine-shaped store is an update, if a mistaken one, and no ordinary store."""
    return combine is reducer.op or (combine in _MISTAKEN and not reducer.closed)


def _augmented(
    reducer: Traced, op: str, buffer: Any, indices: tuple[Any, ...], value: Any
) -> Any | None:
    combine = _AUGMENTED.get(op)
    if combine is None or not _plain(indices) or not _combines(reducer, combine):
        return None
    form = UpdateForm.SUBTRACT if op == "Sub" else UpdateForm.AUGMENTED
    contribution = negated(value, str(buffer.dtype)) if op == "Sub" else value
    return update_marker(buffer, indices, contribution, form, combine.name, location())


def _stored(reducer: Traced, buffer: Any, indices: tuple[Any, ...], value: Any) -> Any | None:
    if not _plain(indices) or len(indices) != len(buffer.shape):
        return None
    found = classify(buffer, indices, value)
    if found is None or not _combines(reducer, found[0]):
        return None
    combine, contribution = found
    return update_marker(
        buffer, indices, contribution, UpdateForm.COMBINE, combine.name, location()
    )


def _store(buffer: Any, sl: Any, symbol: str, value: Any) -> Any:
    """A store that is no update, for the rules to judge."""
    tir = adapter().tir
    indices = ", ".join(_spelled(index) for index in _indices(sl))
    what = f"`{buffer.name}[{indices}] {symbol} ...`"
    shown = value if isinstance(value, tir.PrimExpr) else tir.IntImm("int32", 0)
    return marker.build("store", marker.origin(buffer), what, location(), shown)


def _spelled(index: Any) -> str:
    if isinstance(index, slice):
        parts = (
            (index.start, index.stop)
            if index.step is None
            else (index.start, index.stop, index.step)
        )
        return ":".join("" if part is None else str(part) for part in parts)
    return str(index)


def negated(value: Any, dtype: str) -> Any:
    """`-value` computed in `dtype`: a bool or a small unsigned value has no negation of its own."""
    from reducer_compat import monoids

    constant, bounds = tree.constant(value), integer_bounds(dtype)
    if constant is not None and bounds is not None and bounds[0] == 0:
        return monoids.number(-constant % (bounds[1] + 1), dtype)
    return monoids.number(0, dtype) - monoids.cast(value, dtype)


def classify(buffer: Any, indices: tuple[Any, ...], value: Any) -> tuple[Op, Any] | None:
    """The combine and the contribution of ``acc[indices] = value``, or None for a plain store.

    Recognizes the accumulator as either operand of the combine and anywhere in a chain of one
    operator, under the casts that mixed dtypes bring.
    """
    if not isinstance(value, adapter().tir.PrimExpr):
        return None
    bare = _uncast(value)
    for op in Op:
        terms = _terms(op, bare, 1, lambda e: _mentions(buffer, e))
        mine = [term for term, sign in terms if sign == 1 and _is_self(buffer, indices, term)]
        if len(terms) > 1 and len(mine) == 1:
            rest = [(term, sign) for term, sign in terms if not term.same_as(mine[0])]
            return op, _joined(op, rest, str(buffer.dtype))
    return None


def _uncast(expr: Any) -> Any:
    tir = adapter().tir
    while isinstance(expr, tir.Cast):
        expr = expr.value
    return expr


def _is_self(buffer: Any, indices: tuple[Any, ...], term: Any) -> bool:
    tir, equal = adapter().tir, adapter().tvm.ir.structural_equal
    load = _uncast(term)
    if not isinstance(load, tir.BufferLoad) or not load.buffer.same_as(buffer):
        return False
    return all(equal(a, b) for a, b in zip(load.indices, marker.operands(indices), strict=True))


def _mentions(buffer: Any, expr: Any) -> bool:
    load = adapter().tir.BufferLoad
    return any(isinstance(e, load) and e.buffer.same_as(buffer) for e in tree.nodes(expr))


def _terms(op: Op, expr: Any, sign: int, holds: Callable[[Any], bool]) -> list[tuple[Any, int]]:
    """The operands of a chain of one operator, with their signs.

    Python's integers are 32 bits wide: `acc[0] + a + 1` of int16 has a cast within the chain. Those
    that widen, around the accumulator, are passed over.
    """
    tir = adapter().tir
    inner = expr
    while isinstance(inner, tir.Cast) and _widens(inner):
        inner = inner.value
    if inner is not expr and holds(inner) and len(_terms(op, inner, sign, holds)) > 1:
        return _terms(op, inner, sign, holds)
    if op is Op.SUM and isinstance(expr, tir.Sub):
        return _terms(op, expr.a, sign, holds) + _terms(op, expr.b, -sign, holds)
    classes = {Op.SUM: tir.Add, Op.PROD: tir.Mul, Op.MAX: tir.Max, Op.MIN: tir.Min}
    if op in classes and isinstance(expr, classes[op]):
        return _terms(op, expr.a, sign, holds) + _terms(op, expr.b, sign, holds)
    names = {Op.BITAND: "bitwise_and", Op.BITOR: "bitwise_or", Op.BITXOR: "bitwise_xor"}
    if op in names and isinstance(expr, tir.Call) and expr.op.same_as(adapter().op(names[op])):
        return _terms(op, expr.args[0], sign, holds) + _terms(op, expr.args[1], sign, holds)
    return [(expr, sign)]


def _widens(cast: Any) -> bool:
    """Whether a conversion keeps every value, between integers or between floats."""
    old, new = str(cast.value.dtype), str(cast.dtype)
    inner, outer = integer_bounds(old), integer_bounds(new)
    if inner and outer:
        return outer[0] <= inner[0] and inner[1] <= outer[1]
    return is_float(old) and (new == "float64" or (new == "float32" and old != "float64"))


def _joined(op: Op, terms: list[tuple[Any, int]], dtype: str) -> Any:
    from reducer_compat import monoids

    total: Any = None
    for term, sign in terms:
        value = term if sign == 1 else negated(term, dtype)
        value = monoids.cast(value, dtype) if len(terms) > 1 else value
        total = value if total is None else monoids.combine(op, total, value)
    return total
