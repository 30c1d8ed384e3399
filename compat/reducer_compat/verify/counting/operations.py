"""Calls that stand as statements: copies, fills, reductions, atomics, and those of reducers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from reducer_rules.monoid import Op, identity

from .expressions import value
from .lanes import Uncountable
from .updates import UFUNCS

if TYPE_CHECKING:
    from .statements import Machine

#: Nothing to do where a block is one thread of control.
_IGNORED = frozenset(
    {"tvm_storage_sync", "finalize_reducer", "sync_warp", "sync_threads", "annotate_layout"}
)
_ATOMIC = {"add": Op.SUM, "max": Op.MAX, "min": Op.MIN}
_REDUCTIONS = {
    "sum": Op.SUM, "abssum": Op.SUM, "max": Op.MAX, "absmax": Op.MAX, "min": Op.MIN,
    "bitand": Op.BITAND, "bitor": Op.BITOR, "bitxor": Op.BITXOR,
}  # fmt: skip


def operation(machine: Machine, call: Any) -> None:
    """Run one call.

    Raises:
        Uncountable: it is not known here.
    """
    name = machine.tir.op_name(call)
    plain = name.rsplit(".", 1)[-1]
    if plain in _IGNORED:
        return
    if plain == "call_extern" and _is_marker(call):
        _marker(machine, call)
        return
    runner = _OPERATIONS.get(plain) or (_atomic_element if _atomic_op(plain) else None)
    if runner is None:
        shown = str(call.args[0]) if plain == "call_extern" else name
        raise Uncountable(f"the operation {shown}")
    runner(machine, call)


# Regions


class _Region:
    """A box of a buffer: `tl.region(buffer[mins], access, *extents)`, or a whole buffer."""

    def __init__(self, machine: Machine, node: Any) -> None:
        self._machine = machine
        load = node.args[0] if type(node).__name__ == "Call" else node
        if type(load).__name__ == "BufferRegion":
            self.buffer = load.buffer
            mins, extents = [r.min for r in load.region], [r.extent for r in load.region]
        elif type(node).__name__ == "Call" and type(load).__name__ == "BufferLoad":
            self.buffer, mins, extents = load.buffer, list(load.indices), list(node.args[2:])
        else:
            raise Uncountable(f"the operand {node}")
        self.mins = [value(machine, each) for each in mins]
        self.extents = [int(np.asarray(value(machine, each)).max()) for each in extents]

    @property
    def shape(self) -> list[int]:
        """The extents other than 1."""
        return [extent for extent in self.extents if extent != 1]

    def indices(self, positions: Sequence[Any]) -> list[Any]:
        """The indices of an element, from a position on each axis other than those of extent 1."""
        given = iter(positions)
        return [
            low if extent == 1 else low + next(given)
            for low, extent in zip(self.mins, self.extents, strict=True)
        ]

    def inside(self, indices: Sequence[Any]) -> Any:
        """Where the indices lie in the buffer: copies leave out what does not."""
        found: Any = np.True_
        for index, extent in zip(indices, self.buffer.shape, strict=True):
            size = value(self._machine, extent)
            found = found & (np.asarray(index) >= 0) & (np.asarray(index) < size)
        return found


def _over(machine: Machine, shape: Sequence[int], body: Callable[[list[Any]], None]) -> None:
    """Run `body` with a position on each axis of a box."""
    if machine.in_threads:
        raise Uncountable("an operation on a tile inside a condition on the thread")
    with ExitStack() as stack:
        body([stack.enter_context(machine.lanes.axis(extent)) for extent in shape])


def _fill(machine: Machine, call: Any) -> None:
    region, filled = _Region(machine, call.args[0]), value(machine, call.args[1])

    def body(positions: list[Any]) -> None:
        indices = region.indices(positions)
        with machine.lanes.where(region.inside(indices)):
            machine.store(region.buffer, indices, filled)

    _over(machine, region.shape, body)


def _copy(machine: Machine, call: Any) -> None:
    _transfer(machine, call, None)


def _transfer(machine: Machine, call: Any, op: Op | None) -> None:
    source, target = _Region(machine, call.args[0]), _Region(machine, call.args[1])
    if source.shape != target.shape:
        raise Uncountable(f"a copy from shape {source.shape} to shape {target.shape}")

    def body(positions: list[Any]) -> None:
        read, written = source.indices(positions), target.indices(positions)
        found = machine.load(source.buffer, read, source.inside(read))
        with machine.lanes.where(target.inside(written)):
            machine.store(target.buffer, written, _converted(found, target.buffer), op)

    _over(machine, source.shape, body)


def _converted(found: Any, buffer: Any) -> Any:
    from reducer_compat.simt.dtypes import cast

    from .expressions import dtype_of

    return cast(np.asarray(found), dtype_of(buffer))


def _reduce(machine: Machine, call: Any) -> None:
    source, target = _Region(machine, call.args[0]), _Region(machine, call.args[1])
    kind, axis, clear = str(call.args[2].value), int(call.args[3]), bool(call.args[4])
    op = _REDUCTIONS.get(kind)
    if op is None:
        raise Uncountable(f"a reduction by {kind}")
    kept = [extent for i, extent in enumerate(source.extents) if i != axis % len(source.extents)]
    if clear:
        _set_to_identity(machine, target, op)
    if [extent for extent in kept if extent != 1] != target.shape:
        raise Uncountable(f"a reduction from {source.extents} to {target.extents}")

    def body(positions: list[Any]) -> None:
        found = machine.load(source.buffer, source.indices(positions))
        found = np.abs(found) if kind.startswith("abs") else found
        at = iter(positions)
        by_axis = [next(at) if extent != 1 else 0 for extent in source.extents]
        left = [
            position
            for i, (position, extent) in enumerate(zip(by_axis, source.extents, strict=True))
            if i != axis % len(source.extents) and extent != 1
        ]
        machine.store(target.buffer, target.indices(left), found, op)

    _over(machine, source.shape, body)


def _set_to_identity(machine: Machine, region: _Region, op: Op) -> None:
    start = identity(op, str(region.buffer.dtype))
    if start is None:
        raise Uncountable(f"{op} on {region.buffer.dtype}")

    def body(positions: list[Any]) -> None:
        machine.store(region.buffer, region.indices(positions), np.asarray(start))

    _over(machine, region.shape, body)


# Reducers


def _init(machine: Machine, call: Any) -> None:
    _open(machine, _Region(machine, call.args[0]), call.args[1] if len(call.args) > 1 else None)


def _open(machine: Machine, region: _Region, seed: Any) -> None:
    """Start from the identity, or from a seed: combined once with each output, it is the same."""
    if seed is None:
        _set_to_identity(machine, region, machine.reducers[region.buffer.data])
        return
    start = value(machine, seed)

    def body(positions: list[Any]) -> None:
        machine.store(region.buffer, region.indices(positions), start)

    _over(machine, region.shape, body)


def _update(machine: Machine, call: Any) -> None:
    target, contribution = call.args[0], call.args[1]
    _contribute(machine, target.buffer, target.indices, contribution)


def _contribute(machine: Machine, buffer: Any, indices: Sequence[Any], contribution: Any) -> None:
    with machine.as_threads([*indices, contribution]):
        found = [value(machine, index) for index in indices]
        op = machine.reducers[buffer.data]
        machine.store(buffer, found, value(machine, contribution), op)
        machine.contributions += machine.lanes.count()


def _close(machine: Machine, call: Any) -> None:
    _copy(machine, call)


# The runtime's markers


def _is_marker(call: Any) -> bool:
    return str(getattr(call.args[0], "value", "")).startswith("reducer_compat.")


def _marker(machine: Machine, call: Any) -> None:
    from reducer_compat.marker import call_marker

    found = call_marker(call)
    assert found is not None
    buffer = found.target
    if found.kind == "alloc":
        machine.reducers[buffer.data] = Op(found.text(1))
        machine.allocate(buffer)
    elif found.kind == "init":
        seed = found.args[3] if len(found.args) > 3 else None
        _open(machine, _whole(machine, buffer), seed)
    elif found.kind == "update":
        _contribute(machine, buffer, found.args[5:], found.args[4])
    elif found.kind == "finalize":
        if len(found.args) > 3:
            _copy_whole(machine, buffer, found.args[3].buffer)
    else:
        raise Uncountable(f"{found.text(1)} into reducer {buffer.name}")


def _whole(machine: Machine, buffer: Any) -> _Region:
    made = _Region.__new__(_Region)
    made._machine, made.buffer = machine, buffer
    made.extents = [int(np.asarray(value(machine, extent)).max()) for extent in buffer.shape]
    made.mins = [np.int32(0)] * len(made.extents)
    return made


def _copy_whole(machine: Machine, source: Any, target: Any) -> None:
    read, written = _whole(machine, source), _whole(machine, target)

    def body(positions: list[Any]) -> None:
        found = machine.load(source, read.indices(positions))
        machine.store(target, written.indices(positions), found)

    _over(machine, read.shape, body)


# Atomics


def _atomic_op(plain: str) -> Op | None:
    """The operation of `atomic_add_elem_op` and its like."""
    if not (plain.startswith("atomic_") and plain.endswith("_elem_op")):
        return None
    return _ATOMIC.get(plain.removeprefix("atomic_").removesuffix("_elem_op"))


def _atomic_element(machine: Machine, call: Any) -> None:
    """Every thread executes one that stands outside `T.Parallel`."""
    pointer, op = call.args[0], _atomic_op(machine.tir.op_name(call).rsplit(".", 1)[-1])
    load = pointer.args[0]
    if type(load).__name__ != "BufferLoad":
        raise Uncountable(f"the pointer {pointer}")
    with ExitStack() as stack:
        if not machine.in_parallel:
            stack.enter_context(machine.all_threads())
        indices = [value(machine, index) for index in load.indices]
        machine.store(load.buffer, indices, value(machine, call.args[1]), op)


def _atomic_tile(op: Op) -> Callable[[Any, Any], None]:
    def run(machine: Machine, call: Any) -> None:
        _transfer(machine, call, op)

    return run


_OPERATIONS: Mapping[str, Callable[[Any, Any], None]] = {
    "fill": _fill,
    "copy": _copy,
    "reduce": _reduce,
    "reducer_init": _init,
    "reducer_update": _update,
    "finalize_reducer_v2": _close,
    "atomicadd": _atomic_tile(Op.SUM),
    "atomicmax": _atomic_tile(Op.MAX),
    "atomicmin": _atomic_tile(Op.MIN),
}

__all__ = ["UFUNCS", "operation"]
