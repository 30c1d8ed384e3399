"""RM307: native v2 forgets to combine the threads when each value of a row is held by several.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.release import Release, between, named
from reducer_rules.replication import threads_per_row
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline


class SharedRowValues(ReleaseRule):
    code = "RM307"
    name = "shared-row-values"
    affected = between("0.1.14", "0.1.15")
    summary = "values that several threads hold are combined within one of them only"
    explanation = (
        "A fragment with one value for each row of a tile, as T.reduce_max leaves it or as the "
        "finalize of a reducer over the rows does, has each value in every thread that shares "
        "the row. TileLang 0.1.14 and 0.1.15 derive the collective of a reducer over these values "
        "from a sum of thread coordinates that they cannot take apart, find no step in it, and "
        "generate none: of 32 rows of 64 float32 on 128 threads, 4 are counted, for every "
        "op. Rows that lie in single threads, or that take all threads, are right. Established "
        "by interpreting the code of both releases, v1 and v2 alike; v1 code on 0.1.8 to 0.1.13 "
        "has RM301 there instead."
    )
    help = (
        "copy the values to shared memory and read them there, pass the config "
        '`"tl.reducer_force_baseline": True`, or import reducer_compat'
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((32, 64), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((32, 64), "float32")
        top = T.alloc_fragment((32,), "float32")
        rows = T.alloc_shared((32,), "float32")
        T.copy(A, tile)
        T.reduce_max(tile, top, dim=1)
        T.copy(top, rows)
        acc = T.alloc_reducer((1,), "float32")
        result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(32):
            T.reducer_update(acc[0], rows[i])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((128, 4), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((128, 4), "float32")
        top = T.alloc_fragment((128,), "float32")
        T.copy(A, tile)
        T.reduce_max(tile, top, dim=1)
        acc = T.alloc_reducer((1,), "float32")
        result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(128):
            T.reducer_update(acc[0], top[i])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
    )
    invalid = (
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((32, 64), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((32, 64), "float32")
        top = T.alloc_fragment((32,), "float32")
        T.copy(A, tile)
        T.reduce_max(tile, top, dim=1)
        acc = T.alloc_reducer((1,), "float32")
        result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(32):
            T.reducer_update(acc[0], top[i])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((32, 64), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((32, 64), "float32")
        T.copy(A, tile)
        sums = T.alloc_reducer((32,), "float32")
        row_sums = T.alloc_fragment((32,), "float32")
        T.reducer_init(sums)
        for i, j in T.Parallel(32, 64):
            T.reducer_update(sums[i], tile[i, j])
        T.finalize_reducer(sums, row_sums)
        best = T.alloc_reducer((1,), "float32", op="max")
        result = T.alloc_fragment((1,), "float32")
        T.reducer_init(best)
        for i in T.Parallel(32):
            T.reducer_update(best[0], row_sums[i])
        T.finalize_reducer(best, result)
        T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        threads = timeline.kernel.threads
        if not releases or threads is None:
            return
        sharing = _sharing(threads, timeline)
        if sharing is None or not 1 < sharing < threads:
            return
        groups = threads // sharing
        for update in timeline.updates:
            assert update.row_values is not None
            yield self.finding(
                update,
                f"{named(releases)} leaves {groups - 1} of {groups} contributions to "
                f"`{timeline.name}` out: {sharing} threads hold each value of "
                f"`{update.row_values.name}`, and the groups are not combined",
                target,
            )


def _sharing(threads: int, timeline: Timeline) -> int | None:
    """How many threads hold each value that the updates read, where they all are spread alike.

    Sites that are not make TileLang fall back to a plan that combines all threads.
    """
    values = {update.row_values for update in timeline.updates}
    found = {
        None if each is None else threads_per_row(threads, each.rows, each.columns, each.bits)
        for each in values
    }
    return found.pop() if len(found) == 1 else None
