"""Lanes: threads times iterations that run a statement together, and the variables they see.

A lane set is derived from another by a choice of its lanes (a branch) or by repetition (a loop).
Variables are numpy arrays with one element for each lane, or Python numbers where all lanes
agree. They are carried over when they are first read, so that what nobody reads costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: The thread number of a lane, counted from 0 in the block.
THREAD = "thread"
#: Which of several iterations that run at once a lane is in; threads exchange within one.
TURN = "turn"
#: What a value that is only known on the GPU stands for, where a number is needed.
DATA = "data"


@dataclass(frozen=True, slots=True)
class Peers:
    """Where the lanes of each turn are.

    Attributes:
        first: for each lane, the number of its turn's thread 0, among all turns and threads.
        lane: the lane of each of these, -1 where it does not run.
        complete: whether all of them run.
        in_order: whether they are all there in their order, turn by turn.
    """

    first: Any
    lane: Array
    threads: int
    complete: bool
    in_order: bool


def filled(count: int, number: int) -> Array:
    """An array of one integer, `count` times."""
    found: Array = np.empty(count, np.int64)
    found.fill(number)
    return found


def tiled(values: Array, times: int) -> Array:
    """`values`, `times` times one after the other."""
    found: Array = values[None].repeat(times, 0).reshape(-1)
    return found


class Lanes:
    """`count` lanes; `turns` bounds the values of `TURN`.

    `pick` says which lanes of the parent these are: an array, or how often all of them are
    repeated. `peers` is for `collectives`, which finds them when lanes first exchange.
    """

    __slots__ = ("_own", "_parent", "_pick", "count", "peers", "turns")

    def __init__(
        self,
        count: int,
        own: dict[Hashable, Any],
        parent: Lanes | None = None,
        pick: Array | int | None = None,
        turns: int | None = None,
    ) -> None:
        self.count = count
        self._own = own
        self._parent = parent
        self._pick = pick
        self.peers: Peers | None = None
        self.turns: int = turns or (parent.turns if parent is not None else 1)

    def read(self, key: Hashable) -> Any:
        """The value of a variable in each lane.

        Raises:
            KeyError: no statement around bound it.
        """
        value = self._own.get(key)
        if value is None:
            if self._parent is None:
                raise KeyError(key)
            value = self._parent.read(key)
            if self._pick is not None and isinstance(value, np.ndarray):
                times = self._pick
                value = tiled(value, times) if isinstance(times, int) else value[times]
            self._own[key] = value
        elif isinstance(value, _Later):
            value = self._own[key] = value.run(self)
        return value

    def scaled(self, key: Hashable, factor: int) -> Any:
        """A variable times a constant."""
        name = ("scaled", key, factor)
        if name not in self._own:
            self._own[name] = self.read(key) * factor
        return self._own[name]

    def where(self, mask: Any) -> Lanes | None:
        """The lanes of which `mask` is true; None where there are none."""
        if not isinstance(mask, np.ndarray):
            return self if mask else None
        pick = mask.nonzero()[0]
        if len(pick) == self.count:
            return self
        return Lanes(len(pick), {}, self, pick) if len(pick) else None

    def bound(self, key: Hashable, value: Any) -> Lanes:
        """The same lanes with one more variable."""
        return Lanes(self.count, {key: value}, self)

    def later(self, key: Hashable, run: Callable[[Lanes], Any]) -> Lanes:
        """The same lanes with one more variable, computed when it is first read."""
        return Lanes(self.count, {key: _Later(run)}, self)

    def repeated(self, key: Hashable, values: Array) -> Lanes:
        """Every lane once for each of `values`, the later ones after the earlier ones."""
        times = len(values)

        def turn(lanes: Lanes) -> Any:
            inner = self.read(TURN)
            outer = (np.arange(times) * self.turns).repeat(self.count)
            return outer + (tiled(inner, times) if isinstance(inner, np.ndarray) else inner)

        own: dict[Hashable, Any] = {key: values.repeat(self.count), TURN: _Later(turn)}
        return Lanes(self.count * times, own, self, times, self.turns * times)

    def chosen(self, pick: Array, own: dict[Hashable, Any], turns: int) -> Lanes:
        """The lanes `pick`, a lane possibly several times, with more variables."""
        return Lanes(len(pick), own, self, pick, turns)


class _Later:
    __slots__ = ("run",)

    def __init__(self, run: Callable[[Lanes], Any]) -> None:
        self.run = run


def root(threads: int, own: dict[Hashable, Any]) -> Lanes:
    """All threads of one block."""
    return Lanes(threads, {THREAD: np.arange(threads), TURN: 0, **own})
