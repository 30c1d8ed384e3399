"""Calls that stand as statements: copies, fills, reductions, atomics, and those of reducers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reducer_compat.marker import PREFIX, call_marker
from reducer_compat.simt.dtypes import cast
from reducer_rules.monoid import Op, identity

from .expressions import dtype_of, value
from .lanes import Uncountable

if TYPE_CHECKING:
    from .machine import Machine

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
    extern = str(getattr(call.args[0], "value", "")) if plain == "call_extern" else ""
    if plain in _IGNORED or extern.startswith("debug_print"):
        return
    if extern.startswith(PREFIX):
        _marker(machine, call)
        return
    if plain in ("loop_break", "thread_return"):
        machine.lanes.leave()
        return
    runner = _OPERATIONS.get(plain) or (_atomic_element if _atomic_op(plain) else None)
    if runner is None:
        raise Uncountable(f"the operation {extern or name}")
    runner(machine, call)


# Regions


@dataclass(frozen=True)
class _Region:
    """A box of a buffer: its first index and its extent on every axis."""

    buffer: Any
    mins: tuple[Any, ...]
    extents: tuple[int, ...]

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


def _region(machine: Machine, node: Any) -> _Region:
    """The operand of an operation: `tl.region(buffer[mins], access, *extents)`, or a BufferRegion.

    Raises:
        Uncountable: it is anything else.
    """
    if type(node).__name__ == "BufferRegion":
        buffer = node.buffer
        mins, extents = [r.min for r in node.region], [r.extent for r in node.region]
    elif type(node).__name__ == "Call" and type(node.args[0]).__name__ == "BufferLoad":
        buffer = node.args[0].buffer
        mins, extents = list(node.args[0].indices), list(node.args[2:])
    else:
        raise Uncountable(f"the operand {node}")
    return _Region(
        buffer,
        tuple(value(machine, each) for each in mins),
        tuple(_size(machine, each) for each in extents),
    )


def _whole(machine: Machine, buffer: Any) -> _Region:
    extents = tuple(_size(machine, extent) for extent in buffer.shape)
    return _Region(buffer, (np.int32(0),) * len(extents), extents)


def _size(machine: Machine, extent: Any) -> int:
    return int(np.asarray(value(machine, extent)).max())


def _over(machine: Machine, shape: Sequence[int], body: Callable[[list[Any]], None]) -> None:
    """Run `body` with a position on each axis of a box."""
    if machine.in_threads:
        raise Uncountable("an operation on a tile inside a condition on the thread")
    with ExitStack() as stack:
        body([stack.enter_context(machine.lanes.axis(extent)) for extent in shape])


def _fill(machine: Machine, call: Any) -> None:
    region, filled = _region(machine, call.args[0]), value(machine, call.args[1])

    def body(positions: list[Any]) -> None:
        indices = region.indices(positions)
        with machine.lanes.where(machine.inside(region.buffer, indices)):
            machine.store(region.buffer, indices, filled)

    _over(machine, region.shape, body)


def _copy(machine: Machine, call: Any) -> None:
    _transfer(machine, call, None)


def _transfer(machine: Machine, call: Any, op: Op | None) -> None:
    source, target = _region(machine, call.args[0]), _region(machine, call.args[1])
    if source.shape != target.shape:
        raise Uncountable(f"a copy from shape {source.shape} to shape {target.shape}")

    def body(positions: list[Any]) -> None:
        read, written = source.indices(positions), target.indices(positions)
        found = machine.load(source.buffer, read, machine.inside(source.buffer, read))
        with machine.lanes.where(machine.inside(target.buffer, written)):
            machine.store(target.buffer, written, _converted(found, target.buffer), op)

    _over(machine, source.shape, body)


def _converted(found: Any, buffer: Any) -> Any:
    return cast(np.asarray(found), dtype_of(buffer))


def _reduce(machine: Machine, call: Any) -> None:
    source, target = _region(machine, call.args[0]), _region(machine, call.args[1])
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
    _open(machine, _region(machine, call.args[0]), call.args[1] if len(call.args) > 1 else None)


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


def _marker(machine: Machine, call: Any) -> None:
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
