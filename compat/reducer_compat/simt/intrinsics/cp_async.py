"""cp.async: copies of global to shared memory in groups.

A copy reads at its issue and lands at the wait for its group: the latest moment that the program
allows, so that a missing wait shows as stale or unwritten data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import Array, parse
from ..expr import constant
from ..memory import Access, Pointer
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .mbarriers import barrier_ref, release
from .registry import op

if TYPE_CHECKING:
    from ..compile import Compiler
    from ..machine import Machine

WORD = np.dtype(np.uint32)
"""Copies move words: the hardware requires at least that alignment."""


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
    index = words(nbytes)
    mask = np.broadcast_to(taken, (wave.n,))
    values = np.zeros((wave.n, index.shape[1]), WORD)
    if mask.any():
        some = wave if mask.all() else wave.sub(mask)
        origin = source if mask.all() else source.take(mask)
        values[mask] = access.load(some, origin, index, WORD, None)
    place = access.resolve(wave, target, index, WORD, None)
    flat = np.broadcast_to(place.flat, values.shape)
    copies, commits = _flight(wave.m)
    copies.append(_Copy(target.storage, wave.lanes, commits[wave.lanes], flat, values, wave.sid))


def words(nbytes: int) -> Array:
    """The indices of the words of a copy; UnsupportedError for a size that is no whole number."""
    if nbytes % WORD.itemsize:
        raise UnsupportedError(f"an asynchronous copy of {nbytes} bytes")
    return np.arange(nbytes // WORD.itemsize)[None, :]


def land(wave: Wave, behind: int) -> None:
    """Lands the copies of all groups of these lanes but the last `behind`; -1: open ones, too."""
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
            access.put(some, Access(copy.storage, WORD, copy.flat[ours], None), copy.values[ours])
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
    """An arrival that waits for the copies of its thread: they land with it.

    Without `noinc` it is one more than the barrier was initialized for, and counts as none.
    """
    ref = barrier_ref(c, node.args[0])
    counts = c.tir.op_name(node).endswith("noinc")

    def run(w: Wave) -> None:
        land(w, -1)
        barriers, index = ref.array(w.m), ref.at(w)
        release(w, barriers, index)
        if counts:
            barriers.arrive(w.block, index)

    return run
