"""RM315: native v2 gives a result to one of the threads that should hold it.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.plans import may_repeat, narrow_spreads
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline, Update


class ResultInSomeThreads(ReleaseRule):
    code = "RM315"
    name = "result-in-some-threads"
    affected = between("0.1.14", "0.1.15")
    summary = "the result of a loop over a small fragment and memory is right in some threads only"
    explanation = (
        "A fragment of fewer elements than the block has threads is held by several groups of "
        "threads. Where a loop of updates reads memory beside it, and stores to no fragment, "
        "TileLang 0.1.14 and 0.1.15 let one group run it, and then take all of them to have the "
        "result: the others hold the neutral value. A `T.copy` of the result, or a "
        "parallel loop that stores it element by element, takes the right one; what every thread "
        "reads for itself, such as `total[0]` in another loop or in a store, is wrong. Loops "
        "over memory or over fragments alone are right. Established by interpreting the code of "
        "both releases."
    )
    help = (
        "copy the fragment to shared memory and read it there, or the result before it is used, "
        "pass the config "
        '`"tl.reducer_force_baseline": True`, or import reducer_compat'
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
@T.prim_func
def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"),
           C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((32,), "float32")
        T.copy(A, tile)
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(32):
            T.reducer_update(acc[0], tile[i] * B[i])
        T.finalize_reducer(acc, total)
        T.copy(total, C)
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((32,), "float32")
        T.copy(A, tile)
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(32):
            T.reducer_update(acc[0], tile[i])
        T.finalize_reducer(acc, total)
        for i in T.Parallel(128):
            B[i] = total[0]
""",
    )
    invalid = (
        """\
@T.prim_func
def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"),
           C: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((32,), "float32")
        T.copy(A, tile)
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(32):
            T.reducer_update(acc[0], tile[i] * B[i])
        T.finalize_reducer(acc, total)
        for i in T.Parallel(128):
            C[i] = total[0]
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((16, 64), "float32"),
           C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_fragment((16,), "float32")
        T.copy(A, tile)
        acc = T.alloc_reducer((1,), "float32", op="max")
        total = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i, j in T.Parallel(16, 64):
            T.reducer_update(acc[0], tile[i] * B[i, j])
        T.finalize_reducer(acc, total)
        C[0] = total[0] * 2
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases or all(closing.stored_only for closing in timeline.finalizes):
            return
        if not narrow_spreads(timeline):
            return
        for update in timeline.updates:
            if _is_left_to_some(update, timeline):
                yield self.finding(
                    update,
                    f"{named(releases)} gives the result of `{timeline.name}` to some of the "
                    f"{timeline.kernel.threads} threads: they hold copies of a smaller fragment, "
                    "and one copy is counted beside memory",
                    target,
                )


def _is_left_to_some(update: Update, timeline: Timeline) -> bool:
    """Whether one of several copies runs an update that each of them is taken to have run."""
    return update.touches_memory and may_repeat(update, timeline.kernel.threads)
