"""Many iterations at once: the axes they span, which of them are active, and their memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Axes of every value: the first is that of the blocks, the others are those of loops.
RANK = 9


class Uncountable(Exception):  # noqa: N818 -- an answer, not a defect
    """The program does something that has no meaning here, or is not known."""


@dataclass
class Storage:
    """The memory of one buffer, flat: of each block in turn, or once for all where it is global.

    `size` counts the elements that one block sees.
    """

    name: str
    values: Array
    size: int
    shared_by_blocks: bool
    dtype: np.dtype[Any]


class Lanes:
    """The iterations that run together, as axes, and the mask of the active ones."""

    def __init__(self, blocks: int) -> None:
        self.extents = [blocks] + [1] * (RANK - 1)
        self._chosen: Array | None = None
        self._left: Array | None = None
        self._depth = 1

    @property
    def mask(self) -> Array | None:
        """Which lanes are active, over the axes on which that varies; None for all."""
        if self._left is None:
            return self._chosen
        return ~self._left if self._chosen is None else self._chosen & ~self._left

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents)

    @property
    def blocks(self) -> Array:
        """The number of each block, counted from the first that runs."""
        return self.along(0, np.arange(self.extents[0]))

    def along(self, axis: int, values: Array) -> Array:
        """Values that vary along one axis alone."""
        shape = [1] * RANK
        shape[axis] = len(values)
        return values.reshape(shape)

    @contextmanager
    def axis(self, extent: int) -> Iterator[Array]:
        """Open one more axis; gives the position of each lane on it."""
        if self._depth == RANK:
            raise Uncountable(f"more than {RANK - 1} loops around one statement")
        axis = self._depth
        self._depth += 1
        self.extents[axis] = extent
        try:
            yield self.along(axis, np.arange(extent, dtype=np.int32))
        finally:
            self._depth -= 1
            self.extents[axis] = 1

    @contextmanager
    def where(self, condition: Any) -> Iterator[None]:
        """Leave only those lanes active for which the condition holds."""
        before = self._chosen
        condition = np.asarray(condition, dtype=np.bool_)
        self._chosen = condition if before is None else before & condition
        try:
            yield
        finally:
            self._chosen = before

    def leave(self) -> None:
        """The active lanes run nothing more, until `rejoin`.

        Raises:
            Uncountable: only some iterations or threads of a block would.
        """
        if self._depth > 1:
            raise Uncountable("a loop or a kernel that some threads leave")
        left = self.active()
        self._left = left if self._left is None else self._left | left

    @contextmanager
    def rejoin(self) -> Iterator[None]:
        """Lanes that leave meanwhile go on afterwards: what `break` does to a loop."""
        before = self._left
        try:
            yield
        finally:
            self._left = before

    def any_active(self) -> bool:
        """Whether some lane is active."""
        return self.mask is None or bool(self.mask.any())

    def spread(self, value: Any) -> Array:
        """The value of every active lane, one after the other."""
        whole = np.broadcast_to(value, self.shape)
        return whole[self.active()] if self.mask is not None else whole.ravel()

    def active(self) -> Array:
        """The mask over all lanes."""
        return np.broadcast_to(True if self.mask is None else self.mask, self.shape)

    def count(self) -> int:
        """How many lanes are active."""
        return prod(self.extents) if self.mask is None else int(self.active().sum())
