"""The tensor memory accelerator: boxes of tensors and bulk copies, on sm_90.

Copies run at their issue, by an agent of their own in the race check: only a wait for their
mbarrier orders what follows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import Array, DType
from ..expr import constant
from ..memory import Access, Pointer, read, write
from ..program import Value
from ..race import Party
from ..report import UnsupportedError
from ..wave import Wave
from .cp_async import WORD
from .mbarriers import barrier_ref
from .registry import op

if TYPE_CHECKING:
    from ..compile import Compiler


#: Bytes that the shared address of a box is a multiple of (CUDA Programming Guide, tensor maps).
_ALIGNMENT = 128
#: Bytes that both addresses and the length of a bulk copy are multiples of (PTX ISA,
#: cp.async.bulk).
_BULK = 16


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
    _see_alignment(wave, target.storage.name, first[:, 0])
    address = _swizzled(first + np.arange(int(np.prod(tensor.box))) * size, tensor.swizzle)
    return access.resolve(
        wave, Pointer(target.storage, 0), address // size, tensor.dtype.numpy, None
    )


def _see_alignment(wave: Wave, name: str, first: Array) -> None:
    """A box that starts elsewhere is a misaligned address on an H200 (TileLang 0.1.10, 0.1.12)."""
    wave.m.fault(
        wave,
        "misaligned",
        first % _ALIGNMENT != 0,
        lambda p, e: f"a box starts at byte {first[p]} of {name}, no multiple of {_ALIGNMENT}",
    )


def _see_bulk(wave: Wave, pointer: Pointer, size: int) -> None:
    first = np.broadcast_to(np.asarray(pointer.offset, np.int64), (wave.n,))
    name = pointer.storage.name
    wave.m.fault(
        wave,
        "misaligned",
        (first % _BULK != 0) | bool(size % _BULK),
        lambda p, e: (
            f"a bulk copy of {size} bytes at byte {first[p]} of {name}: not both are multiples of "
            f"{_BULK}"
        ),
    )


def _pieces(size: int) -> tuple[Array, np.dtype[Any]]:
    """What a bulk copy moves: words, or bytes where these are no whole number of words."""
    kind = WORD if size % WORD.itemsize == 0 else np.dtype(np.uint8)
    return np.arange(size // kind.itemsize)[None, :], kind


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
    index, kind = _pieces(size)

    def run(w: Wave) -> None:
        _see_bulk(w, source(w), size)
        _see_bulk(w, target(w), size)
        values = access.load(w, source(w), index, kind, None)
        _write_shared(w, access.resolve(w, target(w), index, kind, None), values)
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
    index, kind = _pieces(size)

    def run(w: Wave) -> None:
        _see_bulk(w, source(w), size)
        _see_bulk(w, target(w), size)
        values = _read_shared(w, access.resolve(w, source(w), index, kind, None))
        access.store(w, target(w), index, kind, None, values)

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
