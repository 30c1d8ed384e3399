"""Copy tiles to shared memory in wide pieces where TileLang's own would be narrow.

TileLang deals a tile out to all the threads of a block, in pieces as wide as come out even. A
tile of 8 x 96 halves is 3 * 128 * 2 of them, a row of 96 halves less than one for each thread:

    8 x 96, 128 threads:  3 pieces of 4 bytes in each of 128    ->    16 bytes in each of 96
        96, 128 threads:  2 bytes in each of 96, not async      ->    16 bytes in each of 12

The layout of the loop that a copy becomes says who copies what, no more: TileLang still proves
how wide each access may be. A copy that becomes a tensor copy has no such loop and ignores it,
but layout inference refuses it there, so it is given after that. Kernels with specialized warps
stay as they are, and so do copies that only some threads make.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.passes import build
from reducer_compat.passes.sites import LAYOUT, VECTOR_BYTES, is_tile, load_bytes
from reducer_compat.passes.specialized import is_specialized
from reducer_compat.passes.stage import WIDE, address, divides, strides

#: Bytes of the narrowest asynchronous copy.
LEAST_BYTES = 4
#: Axes of a tile, at most: TileLang loops over more of them with statements in between, and refuses
#: a layout of such a nest ("No extra statements are allowed between nested parallel loops").
MOST_AXES = 2
#: Annotations of a copy by which its author has said how it is shared out.
_SAID = (LAYOUT, "coalesced_width")


@dataclass(frozen=True, slots=True)
class Pieces:
    """How a copy is shared out: `turns` pieces of `width` elements in each of `users` threads."""

    extents: tuple[int, ...]
    width: int
    users: int

    @property
    def turns(self) -> int:
        return math.prod(self.extents) // (self.width * self.users)

    def layout(self) -> Any:
        """The layout of the loop over the elements."""

        def thread(*places: Any) -> Any:
            return build.flat(places, self.extents) // self.width % self.users

        def index(*places: Any) -> Any:
            place = build.flat(places, self.extents)
            return place // (self.width * self.users) * self.width + place % self.width

        return adapter().fragment(self.extents, thread, index)


def widened(func: Any) -> dict[type, tree.Enter]:
    """The rewriting to wider copies to shared memory, where there are any."""
    threads = _threads(func)
    if threads is None:
        return {}
    layouts: dict[Pieces, Any] = {}
    partial: list[frozenset[int]] = []

    def enter(stmt: Any, inside: Any) -> Any:
        found = _better(stmt, threads)
        if found is None:
            return None
        if not partial:
            partial.append(_by_some(func))
        if hash(stmt) in partial[0]:
            return None
        if found not in layouts:
            layouts[found] = found.layout()
        return build.annotated(stmt, LAYOUT, layouts[found])

    return {adapter().tir.Evaluate: enter}


def in_pieces(copy: Any) -> int | None:
    """How many pieces of 16 bytes a copy to shared memory has; None where it is not known to
    come out in such."""
    source, target = (end_of(copy.args[side]) for side in range(2))
    if source is None or target is None or source.extents != target.extents:
        return None
    widest = VECTOR_BYTES // load_bytes(source.load)
    if not source.allows(widest) or not target.allows(widest):
        return None
    return math.prod(source.extents) // widest


def _threads(func: Any) -> int | None:
    """The threads of a block, where they are one dimension and may all take part in a copy."""
    if tree.target_kind(func) != "cuda" or is_specialized(func):
        return None
    launches = filter(tree.is_launch, statements(func))
    counts = {str(one.node.thread_tag): tree.constant(one.value) for one in launches}
    others = (counts.get(f"threadIdx.{axis}", 1) for axis in "yz")
    return counts.get("threadIdx.x") if all(count == 1 for count in others) else None


def _by_some(func: Any) -> frozenset[int]:
    """The hashes of the statements under conditions that depend on the thread."""
    launch, branch = tree.thread_launch(func.body), adapter().tir.IfThenElse
    if launch is None:
        return frozenset()
    thread = launch.node.var
    return frozenset(
        hash(inner)
        for stmt in statements(func)
        if type(stmt) is branch and any(map(thread.same_as, tree.variables(stmt.condition)))
        for inner in tree.walk(stmt)
    )


def _better(stmt: Any, threads: int) -> Pieces | None:
    """Wider pieces for a copy from global to shared memory."""
    copy = stmt.value
    if tree.callee(copy) != "tl.tileop.copy" or not _loads_a_tile(copy):
        return None
    if any(name in copy.annotations for name in _SAID):
        return None
    source, target = (end_of(copy.args[side]) for side in range(2))
    if source is None or target is None or source.extents != target.extents:
        return None
    if len(source.extents) > MOST_AXES:
        return None
    widest = VECTOR_BYTES // load_bytes(source.load)
    if not math.prod(source.extents) % (threads * widest):
        return None
    width = _width(source, target, widest)
    least = LEAST_BYTES // load_bytes(source.load)
    return None if width is None else _chosen(source.extents, width, threads, least)


def _loads_a_tile(copy: Any) -> bool:
    """Whether a copy goes from global to shared memory, and changes no dtype."""
    regions = tree.items(copy.args)[:2]
    if not all(tree.callee(one).endswith("region") for one in regions):
        return False
    read, written = (one.args[0].buffer for one in regions)
    if str(read.scope()) != "global" or not is_tile(written):
        return False
    return str(read.dtype) == str(written.dtype)


@dataclass(frozen=True, slots=True)
class End:
    """One end of a copy: where it starts, and its extents along the axes that it runs over."""

    load: Any
    axes: tuple[int, ...]
    extents: tuple[int, ...]

    def allows(self, width: int) -> bool:
        """Whether every row starts at a multiple of `width` elements, and has one of them."""
        steps = strides(self.load.buffer)
        *outer, last = self.axes
        if last != len(steps) - 1 or self.extents[-1] % width:
            return False
        starts = [address(self.load), *(steps[axis] for axis in outer)]
        return tree.constant(steps[last]) == 1 and all(divides(width, start) for start in starts)


def end_of(argument: Any) -> End | None:
    """An end of a copy, by its region; None where its extents or its dtype are not known."""
    if not tree.callee(argument).endswith("region"):
        return None
    load, _, *rest = tree.items(argument.args)
    extents = [tree.constant(extent) for extent in rest]
    axes = [axis for axis, extent in enumerate(extents) if extent != 1]
    known = [extent for extent in extents if extent is not None and extent != 1]
    if str(load.buffer.dtype) not in WIDE or len(extents) != len(load.indices):
        return None
    return End(load, tuple(axes), tuple(known)) if axes and len(known) == len(axes) else None


def _width(source: End, target: End, widest: int) -> int | None:
    """Elements that can be copied at once, as far as that can be proven."""
    narrowest = max(2, LEAST_BYTES // load_bytes(source.load))
    width = widest
    while width >= narrowest:
        if source.allows(width) and target.allows(width):
            return width
        width //= 2
    return None


def _chosen(extents: Sequence[int], width: int, threads: int, least: int) -> Pieces | None:
    """Pieces of `width` elements, where TileLang's are narrower and no fewer in a thread.

    Where its own are asynchronous, from `least` elements on, and keep all threads busy, half of
    them have to stay so: 32 x 8 halves by 32 of 128 threads took 1.17 of the time of 4 bytes in
    each (H200).
    """
    total = math.prod(extents)
    narrow = width
    while narrow > 1 and total % (threads * narrow):
        narrow //= 2
    found = _evenest(extents, width, threads)
    is_better = narrow < width and found.turns <= -(-total // (threads * narrow))
    is_even = total % (threads * narrow) == 0
    is_idle = is_even and narrow >= least and found.users * 2 < threads
    return found if is_better and not is_idle else None


def _evenest(extents: Sequence[int], width: int, threads: int) -> Pieces:
    """The fewest turns in which pieces come out even, and with whole rows or parts of one.

    Without the latter TileLang cannot invert the layout.
    """
    pieces = math.prod(extents) // width
    rows = [math.prod(extents[axis:]) for axis in range(1, len(extents))]

    def fits(users: int) -> bool:
        taken = users * width
        return pieces % users == 0 and all(not row % taken or not taken % row for row in rows)

    users = next(filter(fits, range(min(threads, pieces), 0, -1)))
    return Pieces(tuple(extents), width, users)
