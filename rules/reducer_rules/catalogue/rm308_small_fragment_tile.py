"""RM308: native v2 does not combine the threads over a tile of fragments smaller than the block.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from reducer_rules.nest import is_power_of_two
from reducer_rules.plans import Spread, narrow_spreads
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline


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
        "instead of 8 for the row sums of 4x8 ones on 128 threads. A fragment that stands for rows "
        "of a larger nest counts as its own tile. Reductions over the first "
        "axis alone, tiles of one axis, and loops that read no copied fragment are right. "
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
        site = next((each for each in narrow_spreads(timeline) if _lost(each, threads)), None)
        if site is None:
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


def _lost(site: Spread, threads: int) -> bool:
    """Whether native v2 generates no collective where one is needed."""
    elements = prod(site.extents)
    if elements >= threads or threads % elements or not is_power_of_two(site.combined):
        return False
    return any(site.reduced[1:])
