"""A traced kernel: its parameters, its grid, and the blocks that run together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from reducer_compat.simt.lowering import installed

from .expressions import dtype_of, value
from .lanes import Lanes, Storage
from .machine import Machine, binding, constant
from .statements import run

#: Values that run together; more blocks than fit run one group after the other.
_AT_ONCE = 1 << 21


@dataclass
class Program:
    """A traced kernel; `contributions` is what the last run counted."""

    prim_func: Any
    contributions: int = 0

    def run(self, given: Sequence[Any]) -> None:
        """Run every block. Arrays of `given`, one for each parameter, change in place.

        Raises:
            Uncountable: the program does something that is not known here.
        """
        _, _, tir = installed()
        env, globals_ = self._parameters(given)
        blocks, width = _grid(tir, self.prim_func.body)
        scout = Machine(tir, Lanes(1), env, globals_)
        extents = [constant(value(scout, extent)) for _, extent in blocks]
        self.contributions, step = 0, max(1, _AT_ONCE // width)
        for first in range(0, prod(extents), step):
            size = min(step, prod(extents) - first)
            machine = Machine(tir, Lanes(size), dict(env), dict(globals_))
            # The x of the grid runs fastest.
            numbers = np.arange(first, first + size)
            for (var, _), extent in zip(blocks, extents, strict=True):
                position = (numbers % extent).astype(np.int32)
                machine.env[var] = machine.lanes.along(0, position)
                numbers = numbers // extent
            machine.find_threads(self.prim_func.body)
            run(machine, self.prim_func.body)
            self.contributions += machine.contributions
        self._write_back(given, globals_)

    def _parameters(self, given: Sequence[Any]) -> tuple[dict[Any, Any], dict[Any, Storage]]:
        env: dict[Any, Any] = {}
        storages: dict[Any, Storage] = {}
        for param, passed in zip(self.prim_func.params, given, strict=True):
            buffer = self.prim_func.buffer_map.get(param)
            if buffer is None:
                env[param] = dtype_of(param).type(passed)
                continue
            for extent, size in zip(buffer.shape, passed.shape, strict=True):
                if type(extent).__name__ == "Var":
                    env[extent] = dtype_of(extent).type(size)
            flat = np.array(passed).ravel()
            storages[buffer.data] = Storage(
                str(buffer.name), flat, flat.size, True, dtype_of(buffer)
            )
        return env, storages

    def _write_back(self, given: Sequence[Any], storages: dict[Any, Storage]) -> None:
        for param, passed in zip(self.prim_func.params, given, strict=True):
            buffer = self.prim_func.buffer_map.get(param)
            if buffer is not None:
                passed[...] = storages[buffer.data].values.reshape(passed.shape)


def _grid(tir: Any, body: Any) -> tuple[list[tuple[Any, Any]], int]:
    """The block indices (x first) with their extents, and the widest parallel nest."""
    found: dict[str, tuple[Any, Any]] = {}
    widest = 1
    for node in tir.nodes(body):
        tag, var, extent = binding(node)
        if tag.startswith("blockIdx"):
            found[tag] = (var, extent)
        if type(node).__name__ == "For" and node.kind == tir.module.ForKind.PARALLEL:
            widest = max(widest, _nest_size(tir, node))
    return [found[tag] for tag in sorted(found)], widest


def _nest_size(tir: Any, loop: Any) -> int:
    size = 1
    while type(loop).__name__ == "For":
        extent = loop.extent
        size *= int(extent.value) if hasattr(extent, "value") else 1
        loop = loop.body
    return size
