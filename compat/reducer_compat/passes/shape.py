"""How threads share the outputs of a reducer, and what each way of sharing costs.

Thread `t` is member `t // stride % group` of row `t % stride + t // (stride * group) * stride`.
Outputs fall into chunks of `pack` neighbours. Row `r` holds the chunks `r`, `r + rows`,
`r + 2 * rows`, ... and nobody else contributes to them; its members share the iterations of
each output.

    row sums, 128 threads, group 16:                columns, pack 8, group 4, stride 8:
    thread 0..15 -> row 0, member 0..15             thread 0..7 -> rows 0..7, member 0
    thread 16..31 -> row 1                          thread 8..15 -> rows 0..7, member 1
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reducer_compat.passes.sites import VECTOR_BYTES, Operand, Rows

#: Bytes that neighbouring threads should read side by side.
SEGMENT_BYTES = 128
#: Steps of the collective that weigh as much as one load in a loop over tiles.
STEPS_PER_LOAD = 20
#: Outputs that every thread may hold at once where that saves loads.
HELD = 32


@dataclass(frozen=True, slots=True)
class Shape:
    """The rows that threads form; all of `threads` take part in one of them."""

    threads: int
    group: int
    stride: int = 1
    pack: int = 1

    @property
    def rows(self) -> int:
        return self.threads // self.group

    def row(self, thread: Any) -> Any:
        """The row of a thread."""
        if self.rows == 1:
            return 0
        if self.stride == 1:
            return thread // self.group
        if self.stride == self.rows:
            return thread % self.stride
        return thread // (self.stride * self.group) * self.stride + thread % self.stride

    def member(self, thread: Any) -> Any:
        """The number of a thread within its row."""
        if self.rows == 1:
            return thread
        if self.stride == 1:
            return thread % self.group
        return thread // self.stride % self.group

    def thread(self, row: Any, member: Any) -> Any:
        """The thread that is `member` of `row`."""
        return (row // self.stride * self.group + member) * self.stride + row % self.stride

    def chunks(self, outputs: int) -> int:
        return -(-outputs // self.pack)

    def turns(self, outputs: int) -> int:
        """Chunks in each row."""
        return -(-self.chunks(outputs) // self.rows)

    def slots(self, outputs: int) -> int:
        """Partials in each thread."""
        return self.turns(outputs) * self.pack

    def slot(self, output: Any) -> Any:
        """Which partial of its row an output is."""
        if self.rows == 1 and self.pack == 1:
            return output
        if self.pack == 1:
            return output // self.rows
        return output // self.pack // self.rows * self.pack + output % self.pack

    def output(self, slot: Any, row: Any) -> Any:
        """The output that a partial of a row is."""
        if self.pack == 1:
            return slot * self.rows + row
        return (slot // self.pack * self.rows + row) * self.pack + slot % self.pack

    def fits(self, outputs: int, rows: Rows) -> bool:
        """Whether a site can be spread so; a layout of its loop must come out even."""
        if self.pack > 1 and outputs % self.pack:
            return False
        if not rows.exact:
            return True
        return outputs % (self.rows * self.pack) == 0 and rows.span % self.group == 0

    def width(self, outputs: int, rows: Rows) -> int:
        """Neighbouring iterations of an output that a thread of this site takes at once."""
        works = self.works(outputs, rows)
        return self._widths(rows)[works.index(min(works))]

    def works(self, outputs: int, rows: Rows) -> list[float]:
        """What each width costs that a thread of a site may take at once."""
        return [_work(self, outputs, rows, width) for width in self._widths(rows)]

    def _widths(self, rows: Rows) -> list[int]:
        inner = len(rows.extents) - 1
        widest = rows.vector if inner in rows.rest else 1
        powers = [1 << k for k in reversed(range(widest.bit_length()))]
        even = [w for w in powers if not rows.exact or rows.span % (w * self.group) == 0]
        return even or [1]


def best(outputs: int, threads: int, sites: Sequence[Rows]) -> Shape | None:
    """The shape that costs least, or None where no shape fits every site."""
    fitting = [
        shape
        for shape in _candidates(outputs, threads, sites)
        if all(shape.fits(outputs, rows) for rows in sites)
    ]
    return min(fitting, key=lambda shape: _cost(shape, outputs, sites), default=None)


def _candidates(outputs: int, threads: int, sites: Sequence[Rows]) -> Iterator[Shape]:
    for group in range(1, threads + 1):
        if threads % group:
            continue
        rows = threads // group
        for pack in _packs(outputs, rows, sites):
            yield Shape(threads, group, _stride(rows, pack, sites), pack)


def _stride(rows: int, pack: int, sites: Sequence[Rows]) -> int:
    """Neighbouring threads that read neighbouring chunks of columns; 1 for anything else."""
    if not all(site.columns for site in sites):
        return 1
    sizes = [operand.bytes for site in sites for operand in site.operands if operand.inner]
    size = min(sizes, default=VECTOR_BYTES)
    stride = 1
    while rows % (stride * 2) == 0 and stride * 2 * pack * size <= SEGMENT_BYTES:
        stride *= 2
    return stride


def _packs(outputs: int, rows: int, sites: Sequence[Rows]) -> set[int]:
    packs = {1}
    if all(site.columns for site in sites):
        packs.add(min(site.vector for site in sites))
    if rows == 1 and outputs <= HELD and all(len(site.axes) > 1 for site in sites):
        packs.add(outputs)
    return packs


def _cost(shape: Shape, outputs: int, sites: Sequence[Rows]) -> tuple[float, int]:
    """Work at the sites and in the collective, which runs once for many tiles; then partials."""
    work = sum(min(shape.works(outputs, rows)) for rows in sites)
    slots = shape.slots(outputs)
    steps = slots * (shape.group - 1).bit_length()
    return round(work + steps / STEPS_PER_LOAD, 6), slots


def _work(shape: Shape, outputs: int, rows: Rows, width: int) -> float:
    """Loads of one thread, those that do not come side by side counted more, and combines."""
    turns = math.ceil(math.ceil(rows.span / width) / shape.group)
    combined = shape.slots(outputs) * turns * width
    loads = sum(
        _loads(shape, outputs, rows, operand, turns * width, width) for operand in rows.operands
    )
    return loads + combined / 8


def _loads(
    shape: Shape, outputs: int, rows: Rows, operand: Operand, iterations: int, width: int
) -> float:
    held = shape.slots(outputs)
    if shape.pack == outputs and outputs > 1:
        held = rows.held(operand)
    elif not operand.axes:
        held = 1
    count = held * (iterations if operand.rest else 1)
    if not operand.inner:
        return count
    lane = min(shape.pack, rows.inner) if rows.columns else width
    vector = max(1, min(lane, VECTOR_BYTES // operand.bytes))
    side = lane * (min(shape.stride, shape.rows) if rows.columns else shape.group)
    wanted = min(SEGMENT_BYTES, rows.inner * operand.bytes)
    return count / vector * max(1.0, wanted / (side * operand.bytes))
