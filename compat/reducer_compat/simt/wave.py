"""A wave: lanes that are at the same place of the program, with their variables.

A lane is one thread of one block. A value is a numpy scalar when all lanes agree on it, else an
array with one entry a lane (and a second axis for vectors, where a first axis of length 1 means
that all lanes agree).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import Array
from .memory import Pointer
from .race import Party

if TYPE_CHECKING:
    from .machine import Machine

Env = list[Any]


class Wave:
    """Lanes (ascending numbers), their environment and their place in the program.

    `sid` is the statement being executed, for reports. `elements` is a mask over vector
    elements, or None.
    """

    __slots__ = (
        "_block",
        "_party",
        "_tid",
        "elements",
        "env",
        "gate",
        "lanes",
        "m",
        "n",
        "pc",
        "sid",
    )

    def __init__(self, machine: Machine, lanes: Array, env: Env, pc: int = 0):
        self.m = machine
        self.lanes = lanes
        self.n = len(lanes)
        self.env = env
        self.pc = pc
        self.sid = 0
        self.gate: Any = None
        self.elements: Any = None
        self._block: Array | None = None
        self._tid: Array | None = None
        self._party: Party | None = None

    @property
    def full(self) -> bool:
        """Whether this wave is every lane of the launch that has not returned early."""
        return self.n == self.m.alive_count

    @property
    def block(self) -> Array:
        """The block row of each lane."""
        if self._block is None:
            self._block = self.m.lane_block[self.lanes]
        return self._block

    @property
    def tid(self) -> Array:
        """The linear thread number of each lane within its block."""
        if self._tid is None:
            self._tid = self.m.lane_tid[self.lanes]
        return self._tid

    @property
    def party(self) -> Party:
        """The lanes as parties of the race check."""
        if self._party is None:
            self._party = Party(self.block, self.tid // self.m.warp, self.tid)
        return self._party

    def sub(self, chosen: Array) -> Wave:
        """The lanes that `chosen` (a mask or positions) picks, at the same place."""
        wave = Wave(
            self.m, self.lanes[chosen], [pick(v, chosen, self.n) for v in self.env], self.pc
        )
        wave.sid = self.sid
        if self.elements is not None:
            wave.elements = pick(self.elements, chosen, self.n)
        return wave


def pick(value: Any, chosen: Array, n: int) -> Any:
    """The part of a wave's value that belongs to the chosen lanes."""
    if isinstance(value, np.ndarray):
        return value[chosen] if len(value) == n else value
    if isinstance(value, Pointer):
        return value.take(chosen)
    return value


def merge(waves: list[Wave]) -> Wave:
    """One wave of the lanes of several that are at the same place, in lane order."""
    lanes = np.concatenate([w.lanes for w in waves])
    order = np.argsort(lanes, kind="stable")
    env = [_merge_values([w.env[i] for w in waves], waves, order) for i in range(len(waves[0].env))]
    merged = Wave(waves[0].m, lanes[order], env, waves[0].pc)
    merged.sid = waves[0].sid
    merged.gate = waves[0].gate
    return merged


def _merge_values(values: list[Any], waves: list[Wave], order: Array) -> Any:
    first = values[0]
    if all(v is first for v in values):
        return first
    if any(v is None for v in values):
        return None
    if isinstance(first, Pointer):
        offsets = _merge_values([v.offset for v in values], waves, order)
        return Pointer(first.storage, offsets, first.dtype)
    if all(np.ndim(v) == 0 for v in values) and all(v == first for v in values):
        return first
    spread = [_spread(v, w.n) for v, w in zip(values, waves, strict=True)]
    return np.concatenate(spread)[order]


def _spread(value: Any, n: int) -> Array:
    array: Array = np.asarray(value)
    if array.ndim == 0:
        return np.broadcast_to(array, (n,))
    return np.broadcast_to(array, (n, *array.shape[1:])) if len(array) != n else array
