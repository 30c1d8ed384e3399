"""RM304: a thread count that is no power of two, which the collective cannot combine.

https://github.com/tile-ai/tilelang/issues/2542
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import fully_replicated, is_power_of_two, outputs
from reducer_rules.plans import combines_all
from reducer_rules.release import NATIVE_V2, Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline

#: The first release that checks the width of a collective.
_CHECKED = Release.parse("0.1.13")


class ThreadCount(ReleaseRule):
    code = "RM304"
    name = "thread-count"
    affected = between("0.1.8", "0.1.15")
    summary = "the threads of the finalize are no power of two"
    explanation = (
        "The collective of TileLang is a butterfly over pairs of threads, which only powers of two "
        "close (tile-ai/tilelang#2542). TileLang 0.1.8 to 0.1.12 generate it all the same: it "
        "leaves contributions out, for every op, and above 32 threads reads its workspace out of "
        "bounds. 0.1.13 to 0.1.15 refuse to compile with an internal error. From 0.1.14 on a "
        "reducer of several outputs compiles where the threads that share an output are a power of "
        "two. All threads are combined where an index is no variable of the loop for a whole axis, "
        "and in nests over memory that have fewer iterations than threads, or extents that are all "
        "powers of two."
    )
    help = "launch a power of two of threads, or import reducer_compat, which combines any count"
    example_target = Target(Release.parse("0.1.12"))
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i, j in T.Parallel(16, 8):
    acc[0] += A[j]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((96,), "float32"), B: T.Tensor((96,), "float32")):
    with T.Kernel(1, threads=96):
        acc = T.alloc_reducer((96,), "float32", replication="none")
        T.clear(acc)
        for i in T.Parallel(96):
            acc[i] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
""",
    )
    invalid = (
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((96,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=96):
        acc = T.alloc_reducer((1,), "float32", replication="all")
        T.clear(acc)
        for i in T.Parallel(96):
            acc[0] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
""",
        """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((192,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=192):
        acc = T.alloc_reducer((1,), "float32", op="min", replication="all")
        T.fill(acc, T.max_value("float32"))
        for i in T.Parallel(192):
            acc[0] = T.min(acc[0], A[i])
        T.finalize_reducer(acc)
        T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        threads = timeline.kernel.threads
        releases = _combining(timeline, self.judged_on(timeline, target))
        if not releases or threads is None or is_power_of_two(threads):
            return
        for finalize in timeline.finalizes:
            yield self.finding(
                finalize,
                f"the finalize of `{timeline.name}` combines {threads} threads, no power of two: "
                f"{_outcome(releases)}",
                target,
            )


def _combining(timeline: Timeline, releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Those of `releases` on which the finalize surely combines all threads."""
    replicated = fully_replicated(timeline)
    wide = outputs(timeline) == 1 or any(combines_all(u, timeline) for u in timeline.updates)
    return tuple(r for r in releases if (wide if r >= NATIVE_V2 else replicated))


def _outcome(releases: tuple[Release, ...]) -> str:
    wrong = tuple(release for release in releases if release < _CHECKED)
    failing = tuple(release for release in releases if release >= _CHECKED)
    parts = [f"{named(wrong)} leaves contributions out"] if wrong else []
    parts += [f"{named(failing)} fails to compile it"] if failing else []
    return ", ".join(parts)
