"""RM305: a parallel loop that does not tile the threads, and fails to compile.

https://github.com/tile-ai/tilelang/issues/2408
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import Nest, nest_of
from reducer_rules.plans import alike, reduced_loops
from reducer_rules.release import NATIVE_V2, Release, between, named
from reducer_rules.replication import tiles, tiles_native
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Operands, Timeline, Update


class RaggedTile(ReleaseRule):
    code = "RM305"
    name = "ragged-tile"
    affected = between("0.1.8", "0.1.15")
    summary = "the tile of a reducing loop does not divide over the threads"
    explanation = (
        "TileLang 0.1.8 to 0.1.13 deal a reducing loop of more iterations than threads evenly, or "
        "end in an internal error (`no available layout found`, or a layout that is no bijection). "
        "0.1.14 and 0.1.15 deal rows of vectors of global or shared memory, and end in the same "
        "error where a row neither divides the threads nor is a multiple of them (8x96, 16x48 and "
        "3x100 on 128 threads), or, in deeper nests, a block of rows (4x3x32); not where updates "
        "differ or their indices are no variables of the loop for whole axes, so that the partials "
        "have no layout of their own. Both were established by lowering grids of tiles, and by "
        "10,000 random kernels. The error names "
        "neither the loop nor the reducer; this rule does."
    )
    help = (
        "pad the tile with an `if` inside the loop, choose another thread count, or import "
        "reducer_compat, which deals any tile"
    )
    example_target = Target(Release.parse("0.1.13"))
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i, j in T.Parallel(8, 96):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(256):
    if i < 192:
        acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(192):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((3,), "float32", replication="all")
T.clear(acc)
for i, j in T.Parallel(3, 100):
    acc[i] += A[j]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        threads = timeline.kernel.threads
        if threads is None:
            return
        if not alike(timeline.updates, timeline):
            releases = tuple(release for release in releases if release < NATIVE_V2)
        for update in timeline.updates:
            nest, reduced = nest_of(update), reduced_loops(update, timeline)
            failing = nest and tuple(
                r for r in releases if _fails(r, threads, nest, update, reduced)
            )
            if nest and failing:
                shape = "x".join(map(str, nest.parallel))
                yield self.finding(
                    update,
                    f"{named(failing)} fails to compile the update of `{timeline.name}`: a "
                    f"loop of {shape} does not tile {threads} threads",
                    target,
                )


def _fails(
    release: Release, threads: int, nest: Nest, update: Update, reduced: tuple[bool, ...]
) -> bool:
    if update.operands is Operands.COLLECTIVE:
        return False
    if release < NATIVE_V2:
        return not tiles(threads, nest.parallel, nest.serial)
    if update.operands is not Operands.MEMORY or nest.serial:
        return False
    return not tiles_native(threads, nest.parallel, reduced)
