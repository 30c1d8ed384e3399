"""Memory as bytes, each storage with a shadow of what was written.

A storage has one row for everybody (global), one for each block (shared) or one for each thread
(local). The shadow holds 0xff for every byte that was written, so that a view of it with an
unsigned type of the element's width is all ones exactly where the whole element was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import Array, poison

if TYPE_CHECKING:
    from .race import RaceShadow

ALIGN = 16


class Storage:
    """Bytes of one allocation, `rows` times `nbytes`.

    `written` tells whether the bytes hold values from the start (arrays that the caller passed).
    """

    def __init__(self, name: str, scope: str, rows: int, nbytes: int, data: Array | None = None):
        self.name = name
        self.scope = scope
        self.rows = rows
        self.nbytes = nbytes
        self.stride = -(-max(nbytes, 1) // ALIGN) * ALIGN
        self.race: RaceShadow | None = None
        self.read_only = False
        self.dirty = False
        self._views: dict[np.dtype[Any], Array] = {}
        self._shadows: dict[int, Array] = {}
        self._bytes = np.full(self.total, 0xFF, np.uint8)
        self._shadow: Array | None = None
        if data is None:
            self._shadow = np.zeros(self.total, np.uint8)
        else:
            self._bytes[:nbytes] = np.ascontiguousarray(data).reshape(-1).view(np.uint8)

    @property
    def total(self) -> int:
        """Bytes of all rows and of the pad behind them, which takes what is out of bounds."""
        return self.rows * self.stride + ALIGN

    def pad(self, itemsize: int) -> int:
        """The flat index of the pad's first element."""
        return self.rows * self.stride // itemsize

    def view(self, dtype: np.dtype[Any]) -> Array:
        """All rows as one flat array of `dtype`."""
        if dtype not in self._views:
            self._views[dtype] = self._bytes.view(dtype)
        return self._views[dtype]

    def shadow(self, itemsize: int) -> Array | None:
        """The shadow as unsigned integers of `itemsize` bytes, or None if all was written."""
        if self._shadow is None:
            return None
        if itemsize not in self._shadows:
            self._shadows[itemsize] = self._shadow.view(f"u{itemsize}")
        return self._shadows[itemsize]

    def forget(self, rows: Array) -> None:
        """Marks `rows` as never written: a local array comes into scope anew."""
        if self._shadow is not None:
            self._shadow[:-ALIGN].reshape(self.rows, self.stride)[rows] = 0

    def values(self, dtype: np.dtype[Any]) -> Array:
        """The first row, as a flat array of `dtype` without padding."""
        return self.view(dtype)[: self.nbytes // dtype.itemsize]

    def unwritten(self, itemsize: int) -> Array:
        """Indices of the elements of the first row that were never (or only partly) written."""
        shadow = self.shadow(itemsize)
        if shadow is None:
            return np.zeros(0, np.intp)
        full = np.iinfo(shadow.dtype).max
        return np.flatnonzero(shadow[: self.nbytes // itemsize] != full)


@dataclass(frozen=True)
class Pointer:
    """An address: a storage and a byte offset, one for all lanes or one for each."""

    storage: Storage
    offset: Any
    dtype: np.dtype[Any] | None = None

    def shifted(self, nbytes: Any) -> Pointer:
        """The address `nbytes` further on."""
        return Pointer(self.storage, self.offset + nbytes, self.dtype)

    def take(self, chosen: Array) -> Pointer:
        """The same addresses for fewer lanes."""
        if np.ndim(self.offset) == 0:
            return self
        return Pointer(self.storage, self.offset[chosen], self.dtype)


@dataclass(frozen=True)
class Access:
    """Elements that lanes touch: checked flat indices into `storage.view(dtype)`.

    `flat` is a scalar, `(n,)` or `(n, lanes)`; `good` is None when every element is in bounds, and
    the others are at the storage's pad.
    """

    storage: Storage
    dtype: np.dtype[Any]
    flat: Any
    good: Any


def read(access: Access) -> tuple[Any, Any]:
    """The values, and a mask of elements that nothing wrote (None if all were written)."""
    values = access.storage.view(access.dtype)[access.flat]
    if access.good is not None and access.storage.dirty:
        values = np.where(access.good, values, poison(access.dtype))
    shadow = access.storage.shadow(access.dtype.itemsize)
    if shadow is None:
        return values, None
    fresh = shadow[access.flat] != np.iinfo(shadow.dtype).max
    if access.good is not None:
        fresh = fresh & access.good
    return values, (fresh if np.any(fresh) else None)


def write(access: Access, values: Any) -> None:
    """Stores values and marks them written; where lanes collide the last lane wins."""
    flat = access.flat
    shape = np.broadcast_shapes(np.shape(flat), np.shape(values))
    if np.shape(flat) != shape:
        flat = np.broadcast_to(flat, shape)
    access.storage.dirty = True
    access.storage.view(access.dtype)[flat] = values
    shadow = access.storage.shadow(access.dtype.itemsize)
    if shadow is not None:
        shadow[flat] = np.iinfo(shadow.dtype).max


def holds(access: Access, values: Any) -> Array:
    """Which elements hold the given values now, bit for bit."""
    raw = np.dtype(f"u{access.dtype.itemsize}")
    there = access.storage.view(raw)[access.flat]
    given = np.broadcast_to(np.asarray(values, access.dtype), np.shape(access.flat))
    return np.asarray(np.ascontiguousarray(given).view(raw).reshape(given.shape) == there)


def written(access: Access) -> Any:
    """Which elements were written before."""
    shadow = access.storage.shadow(access.dtype.itemsize)
    return True if shadow is None else shadow[access.flat] == np.iinfo(shadow.dtype).max
