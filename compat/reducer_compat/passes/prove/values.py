"""What a stored value holds: which contributions, how often each.

A value is followed through the combine of its reducer, casts, choices, `let`, shuffles and
`tl::AllReduce`. Anything else that is made of contributions is no sum of them any more.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from reducer_compat.passes.prove import collectives, tags
from reducer_compat.passes.prove.expr import Scope, array
from reducer_compat.passes.prove.lanes import THREAD, Lanes
from reducer_compat.passes.prove.layouts import row_major
from reducer_compat.passes.prove.machine import Machine, Memory, Named, NotCountedError
from reducer_compat.passes.prove.weights import ZERO, garbage, weight
from reducer_rules.monoid import Op

Value = Callable[[Machine, Lanes], Any]

COMBINES: dict[str, frozenset[Op]] = {
    "Add": frozenset({Op.SUM}),
    "Mul": frozenset({Op.PROD}),
    "Max": frozenset({Op.MAX}),
    "Min": frozenset({Op.MIN}),
    "bitwise_and": frozenset({Op.BITAND}),
    "bitwise_or": frozenset({Op.BITOR}),
    "bitwise_xor": frozenset({Op.BITXOR}),
}


@dataclass(slots=True)
class Store:
    """What is known of the values of one kernel.

    Attributes:
        scope: for indices and conditions.
        memories: the memory of each data variable that is followed.
        extents: the shape of each of these buffers, to number its elements.
        held: the variables of `let` that hold contributions.
    """

    scope: Scope
    memories: dict[int, Memory]
    held: set[int] = field(default_factory=set)

    def memory(self, buffer: Any) -> Memory | None:
        return self.memories.get(buffer.data.key)

    def index(self, buffer: Any, indices: Any) -> Callable[[Lanes], Any]:
        """The element that indices name, row-major."""
        codes = [self.scope.number(index) for index in indices]
        if len(codes) == 1:
            return codes[0].run
        shape = [self.scope.number(extent) for extent in buffer.shape]

        def run(lanes: Lanes) -> Any:
            extents = tuple([int(extent.run(lanes)) for extent in shape])
            return row_major([code.run(lanes) for code in codes], extents)

        return run


def compile_value(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    """An expression stored to a slot of reducers of `ops`."""
    tag = tags.contribution(expr)
    if tag is not None:
        return _contribution(store, tag)
    return _VALUES.get(expr.type, _other)(store, expr, ops)


def holds(store: Store, expr: Any) -> bool:
    """Whether a value is made of contributions."""
    return any(
        leaf.type == "Call"
        or leaf.key in store.held
        or (leaf.type == "BufferLoad" and store.memory(leaf.buffer) is not None)
        for leaf in leaves(expr)
    )


def leaves(expr: Any) -> tuple[Any, ...]:
    """The loads, variables and named contributions that a value is made of."""
    if expr.leaves is None:
        expr.leaves = _leaves(expr)
    found: tuple[Any, ...] = expr.leaves
    return found


def _leaves(expr: Any) -> tuple[Any, ...]:
    kind = expr.type
    if kind in ("BufferLoad", "Var") or tags.contribution(expr) is not None:
        return (expr,)
    # What a choice depends on is no part of its value.
    choice = kind == "Select" or (kind == "Call" and expr.name == "if_then_else")
    return tuple([leaf for part in expr.operands[choice:] for leaf in leaves(part)])


# -- leaves ---------------------------------------------------------------------------------------


def _contribution(store: Store, tag: tags.Tag) -> Value:
    ids = [store.scope.number(one) for one in tag.ids]
    number = tag.number

    def run(machine: Machine, lanes: Lanes) -> Any:
        values = [one.run(lanes) for one in ids]
        mine = weight(number, values)
        if machine.watch is not None:
            machine.made = Named(number, values)
        machine.seen[number] = machine.seen.get(number, 0) + lanes.count
        for axis, value in enumerate(values):
            hit = machine.counts(("update", number, axis), tag.place, np.asarray(value))
            mine = mine if hit is None else _kept(hit, mine)
        if np.any(mine):
            machine.lived.add(tag.place)
        if machine.focus is not None:
            held = np.isin(mine, machine.focus)
            mine = _kept(held, mine)
            taken = lanes.where(held[()])
            machine.ran.update([] if taken is None else taken.read(THREAD).tolist())
        return mine

    return run


def _kept(mask: Any, weights: Any) -> Any:
    """The weights where `mask` is true, 0 elsewhere; a number where both are one."""
    return np.where(mask, weights, ZERO)[()]


def _load(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    memory = store.memory(expr.buffer)
    if memory is None:
        return foreign(expr)
    index = store.index(expr.buffer, expr.indices)
    return lambda machine, lanes: machine.load(memory, lanes, index(lanes))


def _variable(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    key = ("held", expr.key)
    if expr.key not in store.held:
        return foreign(expr)
    return lambda machine, lanes: lanes.read(key)


def _constant(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    if any(tags.is_identity(expr, op) for op in ops):
        return lambda machine, lanes: ZERO
    return foreign(expr)


def foreign(expr: Any) -> Value:
    """A value that is no sum of contributions."""
    mark = garbage(f"foreign {expr.type}")
    return lambda machine, lanes: mark


# -- made of others -------------------------------------------------------------------------------


def _binary(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    if tags.number_of(expr) is not None:
        return _constant(store, expr, ops)
    if not holds(store, expr) or not COMBINES.get(expr.type, frozenset()) & ops:
        return foreign(expr)
    return _sum([compile_value(store, part, ops) for part in (expr.a, expr.b)])


def _sum(parts: list[Value]) -> Value:
    return lambda machine, lanes: reduce(operator.add, (part(machine, lanes) for part in parts))


def _cast(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    if tags.number_of(expr) is not None:
        return _constant(store, expr, ops)
    return compile_value(store, expr.value, ops)


def _select(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    return _choice(store, (expr.condition, expr.true_value, expr.false_value), ops)


def _choice(store: Store, parts: Any, ops: frozenset[Op]) -> Value:
    condition = store.scope.number(parts[0])
    left, right = (compile_value(store, part, ops) for part in parts[1:])
    if condition.data:
        raise NotCountedError(f"a choice between contributions by data: {parts[0]}")

    def run(machine: Machine, lanes: Lanes) -> Any:
        chosen = condition.run(lanes)
        if not isinstance(chosen, np.ndarray):
            return (left if chosen else right)(machine, lanes)
        result = np.empty(lanes.count, np.uint64)
        for mask, part in ((chosen != 0, left), (chosen == 0, right)):
            taken = lanes.where(mask)
            if taken is not None:
                result[mask] = part(machine, taken)
        return result

    return run


def _call(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    name = expr.name
    if name == "if_then_else":
        return _choice(store, expr.args, ops)
    if name in ("reinterpret", "likely"):
        return compile_value(store, expr.args[0], ops)
    if COMBINES.get(name, frozenset()) & ops and holds(store, expr):
        return _sum([compile_value(store, part, ops) for part in expr.args])
    exchange = collectives.value_of(expr, name, ops, store.scope)
    if exchange is not None:
        mine = compile_value(store, exchange.operand, ops)
        return lambda machine, lanes: exchange.run(lanes, array(mine(machine, lanes), lanes.count))
    return _other(store, expr, ops)


def _other(store: Store, expr: Any, ops: frozenset[Op]) -> Value:
    if tags.number_of(expr) is not None:
        return _constant(store, expr, ops)
    if holds(store, expr):
        raise NotCountedError(f"contributions pass through {str(expr)[:120]}")
    return foreign(expr)


_VALUES: dict[str, Callable[[Store, Any, frozenset[Op]], Value]] = {
    "BufferLoad": _load,
    "Var": _variable,
    "IntImm": _constant,
    "FloatImm": _constant,
    "Add": _binary,
    "Mul": _binary,
    "Max": _binary,
    "Min": _binary,
    "Sub": _binary,
    "Cast": _cast,
    "Select": _select,
    "Call": _call,
}
