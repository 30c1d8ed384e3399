"""RM301: contributions that the replication of a loop makes count several times.

https://github.com/tile-ai/tilelang/issues/2408
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.counting import times_counted
from reducer_rules.monoid import Op
from reducer_rules.nest import Nest, fully_replicated, is_power_of_two, nest_of
from reducer_rules.release import Release, between, named
from reducer_rules.replication import tiles
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline, Update


class ReplicatedContributions(ReleaseRule):
    code = "RM301"
    name = "replicated-contributions"
    affected = between("0.1.8", "0.1.13")
    summary = "the replicas of a parallel loop are summed into the result"
    explanation = (
        "Up to TileLang 0.1.13 a parallel loop of fewer iterations than threads is executed by "
        "several groups of threads, and the finalize of a replicated reducer adds all of them: "
        "8 numbers on 128 threads come out 16 times too large (tile-ai/tilelang#2408). Max and "
        "min do not change when a value is combined again. The factor was confirmed on the code "
        "that TileLang 0.1.8 to 0.1.13 generate, for loops over global and shared memory and over "
        "fragments that only copies and parallel loops touch; other fragments, and vectors cut "
        "along a serial loop inside, change it, and then none is given."
    )
    help = (
        "import reducer_compat or use TileLang 0.1.14 or later; without either, let the parallel "
        "loop cover a multiple of the threads"
    )
    example_target = Target(Release.parse("0.1.13"))
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
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
T.fill(acc, T.min_value("float32"))
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(2):
    for j in T.serial(4):
        acc[0] += A[i * 4 + j]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        threads = timeline.kernel.threads
        if not releases or timeline.op is not Op.SUM or not fully_replicated(timeline):
            return
        if threads is None or not is_power_of_two(threads):
            return
        for update in timeline.updates:
            nest = nest_of(update)
            said = _said(threads, nest, update) if nest else None
            if said:
                head, reason = said
                message = f"{named(releases)} counts each contribution to `{timeline.name}` {head}"
                yield self.finding(update, f"{message}: {reason}", target)


def _said(threads: int, nest: Nest, update: Update) -> tuple[str, str] | None:
    """How often a contribution counts and why; None where it counts once or that is not known."""
    if not tiles(threads, nest.parallel, nest.serial):
        return None
    times = times_counted(threads, nest, update)
    dealt = f"{nest.size} iteration{'s' * (nest.size > 1)} on {threads} threads"
    values = update.row_values
    if times is not None and times > 1 and values is not None and not values.reducer:
        reason = f"{times} threads hold each value of `{values.name}`, and the finalize adds all"
        return f"{times} times", reason
    if times is not None:
        reason = f"the loop of {dealt} is replicated {times} times, and the finalize adds all"
        return (f"{times} times", reason) if times > 1 else None
    if nest.size * 2 > threads or (values is not None and not values.reducer):
        return None
    return ("several times", f"the loop of {dealt} is replicated, and the finalize adds all")
