"""RM308: native v2 does not combine the threads over a tile of fragments smaller than the block.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from reducer_rules.nest import is_power_of_two
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Index, LoopKind, Timeline, Update


class SmallFragmentTile(ReleaseRule):
    code = "RM308"
    name = "small-fragment-tile"
    affected = between("0.1.14", "0.1.15")
    summary = "of a fragment with fewer elements than threads, one is counted for each output"
    explanation = (
        "A fragment of fewer elements than the block has threads is held by several groups of "
        "threads, an element in each. TileLang 0.1.14 and 0.1.15 have to combine the threads of a "
        "group, look for them in a sum of thread coordinates that they cannot take apart, and "
        "generate no collective: each output is the one contribution of its thread, 1 "
        "instead of 8 for the row sums of 4x8 ones on 128 threads. Reductions over the first "
        "axis alone, tiles of one axis, and loops that read no whole fragment are right. "
        "Established by interpreting the code of both releases for a grid of tiles, axes and "
        "thread counts, v1 and v2 alike; v1 code on 0.1.8 to 0.1.13 has RM301 there instead."
    )
    help = (
        "copy the fragment to shared memory and read it there, pass the config "
        '`"tl.reducer_force_baseline": True`, or import reducer_compat'
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((4, 8), "float32")
        T.copy(A, tile)
        acc = T.alloc_reducer((8,), "float32")
        result = T.alloc_fragment((8,), "float32")
        T.reducer_init(acc)
        for i, j in T.Parallel(4, 8):
            T.reducer_update(acc[j], tile[i, j])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((4,), "float32")
        result = T.alloc_fragment((4,), "float32")
        T.reducer_init(acc)
        for i, j in T.Parallel(4, 8):
            T.reducer_update(acc[i], A[i, j])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
    )
    invalid = (
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((4, 8), "float32")
        T.copy(A, tile)
        acc = T.alloc_reducer((4,), "float32")
        result = T.alloc_fragment((4,), "float32")
        T.reducer_init(acc)
        for i, j in T.Parallel(4, 8):
            T.reducer_update(acc[i], tile[i, j])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((4, 16), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((4, 16), "float32")
        top = T.alloc_fragment((4,), "float32")
        T.copy(A, tile)
        T.reduce_max(tile, top, dim=1)
        acc = T.alloc_reducer((1,), "float32")
        result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i, j in T.Parallel(4, 16):
            T.reducer_update(acc[0], T.exp(tile[i, j] - top[i]))
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        threads = timeline.kernel.threads
        if not releases or threads is None:
            return
        sites = {_site(update, timeline) for update in timeline.updates}
        # Sites that differ make TileLang fall back to a plan that combines all threads.
        site = sites.pop() if len(sites) == 1 else None
        if site is None or not _lost(site, threads):
            return
        shape = "x".join(map(str, site.extents))
        for update in timeline.updates:
            yield self.finding(
                update,
                f"{named(releases)} counts 1 of {site.combined} contributions to each output of "
                f"`{timeline.name}`: a {shape} fragment does not fill {threads} threads, which are "
                "not combined",
                target,
            )


class _Site(NamedTuple):
    """The extents of a tile, and which of its axes an update reduces over; axes of 1 left out."""

    extents: tuple[int, ...]
    reduced: tuple[bool, ...]

    @property
    def combined(self) -> int:
        """How many contributions each output has, of one turn of the loops around the nest."""
        return prod(n for n, gone in zip(self.extents, self.reduced, strict=True) if gone)


def _site(update: Update, timeline: Timeline) -> _Site | None:
    """What decides the plan of an update; None for one that is not planned by its axes."""
    extents = _extents(update)
    tile = tuple(extents.get(name) for name in update.tile)
    kept = _kept(update.indices, timeline.shape, extents)
    if not tile or None in tile or kept is None:
        return None
    axes = [(name, extents[name]) for name in update.tile if extents[name] != 1]
    return _Site(tuple(n or 0 for _, n in axes), tuple(name not in kept for name, _ in axes))


def _extents(update: Update) -> dict[str, int | None]:
    """The parallel variables around an update."""
    return {
        name: extent
        for loop in update.loops
        if loop.kind is LoopKind.PARALLEL
        for name, extent in zip(loop.variables, loop.extents, strict=False)
    }


def _kept(
    indices: tuple[Index, ...], shape: tuple[int | None, ...] | None, extents: dict[str, int | None]
) -> set[str] | None:
    """The variables that number the outputs; None unless each numbers a whole axis of them."""
    if shape is None or len(shape) != len(indices):
        return None
    found = set()
    for index, extent in zip(indices, shape, strict=True):
        if extent == 1 and index.value == 0:
            continue
        name = index.variable
        if name is None or extent is None or extents.get(name) != extent or name in found:
            return None
        found.add(name)
    return found


def _lost(site: _Site, threads: int) -> bool:
    """Whether native v2 generates no collective where one is needed."""
    elements = prod(site.extents)
    if elements >= threads or threads % elements or not is_power_of_two(site.combined):
        return False
    return any(site.reduced[1:])
