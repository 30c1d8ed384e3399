"""Loads and stores with their checks: bounds, alignment, written before, races."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import Array
from .memory import Access, Pointer, holds, read, write, written
from .race import Party, unpack
from .wave import Wave


def resolve(
    wave: Wave, pointer: Pointer, index: Any, dtype: np.dtype[Any], limit: int | None
) -> Access:
    """The elements `index` (in units of `dtype`) behind a pointer, bounds checked.

    `limit` is the number of elements of the buffer, None where only the allocation bounds it.
    """
    storage, size = pointer.storage, dtype.itemsize
    base = _elements(wave, pointer, size)
    local = np.asarray(index, np.int64)
    if np.ndim(base) == 1 and local.ndim == 2:
        base = base[:, None]
    element = base + local
    top = storage.nbytes // size
    bad = (element < 0) | (element >= top)
    if limit is not None:
        bad = bad | (local < 0) | (local >= limit)
    if wave.elements is not None and local.ndim == 2:
        bad, quiet = bad & wave.elements, ~wave.elements
    else:
        quiet = None
    if bad.any():
        _report_bounds(wave, storage.name, bad, element, top if limit is None else min(top, limit))
    off = bad if quiet is None else bad | quiet
    flat = _flatten(wave, storage, element, size)
    if not off.any():
        return Access(storage, dtype, flat, None)
    return Access(storage, dtype, np.where(off, storage.pad(size), flat), ~off)


def load(wave: Wave, pointer: Pointer, index: Any, dtype: np.dtype[Any], limit: int | None) -> Any:
    """The values behind a pointer; a scalar when all lanes read one element of a global array."""
    access = resolve(wave, pointer, index, dtype, limit)
    values, fresh = read(access)
    if fresh is not None:
        name = access.storage.name
        wave.m.fault(
            wave,
            "unwritten-read",
            fresh,
            lambda p, e: f"reads {name}[{_element_text(wave, access, p, e)}], which nothing wrote",
        )
    if access.storage.race is not None:
        note_read(wave, access)
    return values


def store(
    wave: Wave, pointer: Pointer, index: Any, dtype: np.dtype[Any], limit: int | None, values: Any
) -> None:
    """Stores one value (or vector) a lane behind a pointer."""
    access = resolve(wave, pointer, index, dtype, limit)
    put(wave, access, values)


def put(wave: Wave, access: Access, values: Any, who: Party | None = None) -> None:
    """Stores to resolved elements, with the race and read-only checks."""
    storage = access.storage
    if storage.read_only:
        wave.m.fault(
            wave,
            "read-only",
            np.ones(wave.n, np.bool_),
            lambda p, e: f"writes {storage.name}, a read-only array of the caller",
        )
        return
    if storage.race is None:
        write(access, values)
        return
    silent = holds(access, values) & written(access)
    write(access, values)
    _note_write(wave, access, silent, holds(access, values), who)


def note_read(wave: Wave, access: Access, who: Party | None = None) -> None:
    """Checks and records reads of shared memory."""
    race = access.storage.race
    assert race is not None
    cells = race.cells(access.flat, access.dtype.itemsize)
    found = race.read(cells, _shaped(who or wave.party, cells.ndim), wave.sid)
    if found is not None:
        _report_race(wave, access, found, "reads", who)


def _note_write(wave: Wave, access: Access, silent: Array, kept: Array, who: Party | None) -> None:
    """Checks and records writes of shared memory that change something.

    `silent` writes found their value there; `kept` ones are not overwritten by another lane's
    different value of the same statement.
    """
    race = access.storage.race
    assert race is not None
    if race.cell < access.dtype.itemsize:
        silent, kept = silent[..., None], kept[..., None]
    cells = race.cells(access.flat, access.dtype.itemsize)
    found = race.write(cells, _shaped(who or wave.party, cells.ndim), wave.sid, silent, kept)
    if found is not None:
        _report_race(wave, access, found, "writes", who)


def note_atomic(wave: Wave, access: Access) -> None:
    """Checks and records atomics on shared memory."""
    race = access.storage.race
    if race is None:
        return
    cells = race.cells(access.flat, access.dtype.itemsize)
    found = race.atomic(cells, _shaped(wave.party, cells.ndim), wave.sid)
    if found is not None:
        _report_race(wave, access, found, "updates", None)


def _elements(wave: Wave, pointer: Pointer, size: int) -> Any:
    offset = pointer.offset
    bad = np.asarray(offset) % size != 0
    if bad.any():
        wave.m.fault(
            wave,
            "misaligned",
            np.broadcast_to(bad, (wave.n,)),
            lambda p, e: (
                f"byte {_at(offset, p)} of {pointer.storage.name} is not a multiple of {size}"
            ),
        )
    return np.asarray(offset, np.int64) // size


def _flatten(wave: Wave, storage: Any, element: Array, size: int) -> Any:
    if storage.scope == "global":
        return element
    rows = wave.block if storage.scope == "shared" else wave.lanes
    rows = rows * (storage.stride // size)
    return (rows[:, None] if element.ndim == 2 else rows) + element


def _report_bounds(wave: Wave, name: str, bad: Array, element: Array, top: int) -> None:
    wave.m.fault(
        wave,
        "out-of-bounds",
        _per_lane(bad, wave.n),
        lambda p, e: f"element {_at(element, p, e)} of {name}, which has {top}",
    )


def _report_race(wave: Wave, access: Access, found: Array, verb: str, who: Party | None) -> None:
    if access.good is not None:
        found = np.where(access.good[(..., None)[: found.ndim - access.good.ndim + 1]], found, 0)

    def message(position: int, rest: tuple[int, ...]) -> str:
        tid, sid = unpack(int(found[_tuple(position, rest)] if found.ndim else found))
        other = f"thread {tid}" if tid < wave.m.threads else "an asynchronous copy"
        element = _element_text(wave, access, position, rest[:1])
        subject = "an asynchronous copy" if who is not None else f"thread {int(wave.tid[position])}"
        return (
            f"{subject} {verb} {access.storage.name}[{element}] and {other} touched it with no "
            f"barrier between them, in: {wave.m.program.text(sid)}"
        )

    wave.m.fault(wave, "race", _per_lane(found != 0, wave.n), message)


def _element_text(wave: Wave, access: Access, position: int, rest: tuple[int, ...]) -> str:
    flat = _at(access.flat, position, rest)
    return str(
        flat % (access.storage.stride // access.dtype.itemsize) if access.storage.rows > 1 else flat
    )


def _per_lane(bad: Array, n: int) -> Array:
    return bad if bad.ndim and len(bad) == n else np.broadcast_to(bad, (n, *bad.shape[1:]))


def _at(value: Any, position: int, rest: tuple[int, ...] = ()) -> int:
    array = np.asarray(value)
    if array.ndim == 0:
        return int(array)
    first = position if len(array) > position else 0
    return int(array[_tuple(first, rest[: array.ndim - 1])])


def _tuple(first: int, rest: tuple[int, ...]) -> tuple[int, ...]:
    return (first, *rest)


def _shaped(who: Party, ndim: int) -> Party:
    while np.ndim(who.tid) < ndim:
        who = who.widened()
    return who
