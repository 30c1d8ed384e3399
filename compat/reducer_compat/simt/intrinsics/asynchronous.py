"""Asynchronous copies: cp.async groups, and the tensor memory accelerator (TMA).

A cp.async copy reads at its issue and lands at the wait for its group: the latest moment that the
program allows, so that a missing wait shows as stale or unwritten data. TMA copies run at their
issue, by an agent of their own in the race check: only a wait for their mbarrier orders them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import Array, DType, parse
from ..expr import constant
from ..memory import Access, Pointer, read, write
from ..program import Value
from ..race import Party
from ..report import UnsupportedError
from ..wave import Wave
from .mbarriers import barrier_ref
from .registry import op

if TYPE_CHECKING:
    from ..compile import Compiler
    from ..machine import Machine

_WORD = np.dtype(np.uint32)
"""Copies move words: the engines require at least that alignment."""


# -- cp.async -----------------------------------------------------------------------------------


@dataclass
class _Copy:
    """A copy in flight: lanes, their groups, where it lands (flat words) and the words."""

    storage: Any
    lanes: Array
    group: Array
    flat: Array
    values: Array
    sid: int


def _flight(machine: Machine) -> tuple[list[_Copy], Array]:
    if "cp.async" not in machine.state:
        machine.state["cp.async"] = ([], np.zeros(machine.blocks * machine.threads, np.int64))
    found: tuple[list[_Copy], Array] = machine.state["cp.async"]
    return found


def _issue(wave: Wave, target: Pointer, source: Pointer, nbytes: int, taken: Any) -> None:
    """Starts a copy of `nbytes` a lane; lanes not `taken` copy zeros."""
    index = _words(nbytes)
    mask = np.broadcast_to(taken, (wave.n,))
    values = np.zeros((wave.n, index.shape[1]), _WORD)
    if mask.any():
        some = wave if mask.all() else wave.sub(mask)
        origin = source if mask.all() else source.take(mask)
        values[mask] = access.load(some, origin, index, _WORD, None)
    place = access.resolve(wave, target, index, _WORD, None)
    flat = np.broadcast_to(place.flat, values.shape)
    copies, commits = _flight(wave.m)
    copies.append(_Copy(target.storage, wave.lanes, commits[wave.lanes], flat, values, wave.sid))


def _words(nbytes: int) -> Array:
    if nbytes % _WORD.itemsize:
        raise UnsupportedError(f"an asynchronous copy of {nbytes} bytes")
    return np.arange(nbytes // _WORD.itemsize)[None, :]


def land(wave: Wave, behind: int) -> None:
    """Lands the copies of all groups of these lanes but the last `behind`."""
    copies, commits = _flight(wave.m)
    kept: list[_Copy] = []
    sid = wave.sid
    for copy in copies:
        at = np.searchsorted(wave.lanes, copy.lanes)
        ours = wave.lanes[np.minimum(at, wave.n - 1)] == copy.lanes
        ours &= copy.group < commits[copy.lanes] - behind
        if ours.any():
            some = wave.sub(at[ours])
            some.sid = copy.sid
            access.put(some, Access(copy.storage, _WORD, copy.flat[ours], None), copy.values[ours])
        if not ours.all():
            rest = ~ours
            kept.append(
                _Copy(
                    copy.storage,
                    copy.lanes[rest],
                    copy.group[rest],
                    copy.flat[rest],
                    copy.values[rest],
                    copy.sid,
                )
            )
    copies[:] = kept
    wave.sid = sid


@op("ptx_cp_async")
def _cp_async(c: Compiler, node: Any) -> Value:
    args = [a for a in node.args if type(a).__name__ != "StringImm"]
    if any(str(a.dtype) != "handle" for a in args[:2]):
        raise UnsupportedError("the five-argument form of ptx_cp_async")
    size = constant(args[2])
    if size is None:
        raise UnsupportedError("a cp.async of a computed size")
    return _cp_async_bytes(c, args, size)


@op("tl.ptx_cp_async")
def _tile_cp_async(c: Compiler, node: Any) -> Value:
    # This op counts elements of the address's type, not bytes.
    elements = constant(node.args[2])
    kind = node.args[0].args[0].dtype
    if elements is None:
        raise UnsupportedError("a cp.async of a computed size")
    dtype = parse(str(kind))
    return _cp_async_bytes(c, node.args, elements * dtype.itemsize * dtype.lanes)


def _cp_async_bytes(c: Compiler, args: Any, nbytes: int) -> Value:
    target, source = c.expr(args[0]), c.expr(args[1])
    taken = c.expr(args[3]) if len(args) > 3 else (lambda w: np.bool_(True))
    return lambda w: _issue(w, target(w), source(w), nbytes, np.asarray(taken(w)) != 0)


def commit(wave: Wave) -> None:
    """Closes the group of the copies that the lanes issued."""
    _flight(wave.m)[1][wave.lanes] += 1


@op("ptx_commit_group")
def _commit(c: Compiler, node: Any) -> Value:
    return commit


@op("ptx_wait_group")
def _wait_group(c: Compiler, node: Any) -> Value:
    behind = constant(node.args[0])
    if behind is None:
        raise UnsupportedError("a wait for a computed number of copy groups")
    return lambda w: land(w, behind)


@op("ptx_cp_async_barrier", "tl.ptx_cp_async_barrier_noinc")
def _async_barrier(c: Compiler, node: Any) -> Value:
    raise UnsupportedError(f"the op {c.tir.op_name(node)}")


# -- TMA ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorMap:
    """A tensor map as the host encodes it: a box of `box` elements of a strided global tensor."""

    pointer: Pointer
    dtype: DType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int

    @property
    def nbytes(self) -> int:
        """Bytes of a box, the part out of bounds included."""
        return int(np.prod(self.box)) * self.dtype.itemsize


def _engine(wave: Wave) -> Party:
    clocks = wave.m.clocks
    engine = np.full(wave.n, clocks.engine)
    clocks.learn(wave.block, engine, clocks.knowledge(wave.block, wave.party.agent))
    return Party(wave.block, engine, engine * wave.m.warp)


def _box(wave: Wave, tensor: TensorMap, coordinates: list[Any]) -> tuple[Array, Array]:
    """Byte offsets of the box's elements, and which are in the tensor; both `(n, elements)`."""
    offset = np.zeros((wave.n, 1), np.int64)
    inside = np.ones((wave.n, 1), np.bool_)
    for dim, stride, extent, first in zip(
        tensor.dims, tensor.strides, tensor.box, coordinates, strict=True
    ):
        at = (
            np.broadcast_to(first, (wave.n,)).astype(np.int64)[:, None, None]
            + np.arange(extent)[None, :, None]
        )
        offset = (at * stride + offset[:, None, :]).reshape(wave.n, -1)
        inside = (((at >= 0) & (at < dim)) & inside[:, None, :]).reshape(wave.n, -1)
    return offset, inside


def _swizzled(offset: Array, swizzle: int) -> Array:
    """Byte addresses after the swizzle of 16-byte pieces: 0 none, 1 to 3 over 32 to 128 bytes."""
    if swizzle == 0:
        return offset
    if swizzle > 3:
        raise UnsupportedError(f"the tensor map swizzle {swizzle}")
    return np.asarray(offset ^ (((offset >> 7) & ((1 << swizzle) - 1)) << 4))


def _shared_place(wave: Wave, tensor: TensorMap, target: Pointer) -> Access:
    size = tensor.dtype.itemsize
    first = np.broadcast_to(np.asarray(target.offset, np.int64), (wave.n,))[:, None]
    address = _swizzled(first + np.arange(int(np.prod(tensor.box))) * size, tensor.swizzle)
    return access.resolve(
        wave, Pointer(target.storage, 0), address // size, tensor.dtype.numpy, None
    )


def _global_place(wave: Wave, tensor: TensorMap, coordinates: list[Any]) -> Access:
    offset, inside = _box(wave, tensor, coordinates)
    size = tensor.dtype.itemsize
    base = np.asarray(tensor.pointer.offset, np.int64)
    storage = tensor.pointer.storage
    flat = np.where(inside, (base + offset) // size, storage.pad(size))
    return Access(storage, tensor.dtype.numpy, flat, inside)


def _read_global(wave: Wave, place: Access) -> Any:
    values, fresh = read(place)
    if fresh is not None:
        name = place.storage.name
        wave.m.fault(
            wave, "unwritten-read", fresh, lambda p, e: f"copies from {name}, which nothing wrote"
        )
    return np.where(place.good, values, place.dtype.type(0)) if place.good is not None else values


def _write_shared(wave: Wave, place: Access, values: Any) -> None:
    who = _engine(wave)
    access.put(wave, place, values, who)


def _complete(wave: Wave, ref: Any, nbytes: int) -> None:
    barriers, index = ref.array(wave.m), ref.at(wave)
    engine = np.full(wave.n, wave.m.clocks.engine)
    barriers.release(wave.block, index, wave.m.clocks.knowledge(wave.block, engine))
    blocks = np.unique(wave.block)
    wave.m.clocks.tick(blocks, np.full(len(blocks), wave.m.clocks.engine))
    np.subtract.at(barriers.bytes, (wave.block, index), nbytes)
    barriers.settle(wave.block, index)


@op("tl.tma_load")
def _tma_load(c: Compiler, node: Any) -> Value:
    if str(node.args[1].dtype) == "handle" and _is_pointer(c, node.args[0]):
        return _bulk_load(c, node)
    ref, target = barrier_ref(c, node.args[1]), c.expr(node.args[2])
    descriptor = c.expr(node.args[0])
    coordinates = [c.expr(a) for a in node.args[3:-1]]

    def run(w: Wave) -> None:
        tensor: TensorMap = descriptor(w)
        values = _read_global(w, _global_place(w, tensor, [x(w) for x in coordinates]))
        _write_shared(w, _shared_place(w, tensor, target(w)), values)
        _complete(w, ref, tensor.nbytes)

    return run


def _is_pointer(c: Compiler, node: Any) -> bool:
    return type(node).__name__ == "Call" and c.tir.op_name(node) in (
        "tvm_access_ptr",
        "address_of",
        "tl.access_ptr",
    )


def _bulk_load(c: Compiler, node: Any) -> Value:
    target, source, ref = c.expr(node.args[0]), c.expr(node.args[1]), barrier_ref(c, node.args[2])
    size = constant(node.args[3])
    if size is None:
        raise UnsupportedError("a bulk copy of a computed size")
    index = _words(size)

    def run(w: Wave) -> None:
        values = access.load(w, source(w), index, _WORD, None)
        _write_shared(w, access.resolve(w, target(w), index, _WORD, None), values)
        _complete(w, ref, size)

    return run


@op("tl.tma_store")
def _tma_store(c: Compiler, node: Any) -> Value:
    if constant(node.args[-2]):
        raise UnsupportedError("a TMA store that reduces")
    if _is_pointer(c, node.args[0]):
        return _bulk_store(c, node)
    descriptor, source = c.expr(node.args[0]), c.expr(node.args[1])
    coordinates = [c.expr(a) for a in node.args[2:-2]]

    def run(w: Wave) -> None:
        tensor: TensorMap = descriptor(w)
        values = _read_shared(w, _shared_place(w, tensor, source(w)))
        write(_global_place(w, tensor, [x(w) for x in coordinates]), values)

    return run


def _bulk_store(c: Compiler, node: Any) -> Value:
    target, source, size = c.expr(node.args[0]), c.expr(node.args[1]), constant(node.args[2])
    if size is None:
        raise UnsupportedError("a bulk copy of a computed size")
    index = _words(size)

    def run(w: Wave) -> None:
        values = _read_shared(w, access.resolve(w, source(w), index, _WORD, None))
        access.store(w, target(w), index, _WORD, None, values)

    return run


def _read_shared(wave: Wave, place: Access) -> Any:
    values, fresh = read(place)
    if fresh is not None:
        name = place.storage.name
        wave.m.fault(
            wave, "unwritten-read", fresh, lambda p, e: f"stores from {name}, which nothing wrote"
        )
    if place.storage.race is not None:
        access.note_read(wave, place, _engine(wave))
    return values


@op("tl.tma_store_wait")
def _store_wait(c: Compiler, node: Any) -> Value:
    def run(w: Wave) -> None:
        engine = np.full(w.n, w.m.clocks.engine)
        w.m.clocks.learn(w.block, w.party.agent, w.m.clocks.knowledge(w.block, engine))
        blocks = np.unique(w.block)
        w.m.clocks.tick(blocks, np.full(len(blocks), w.m.clocks.engine))

    return run
