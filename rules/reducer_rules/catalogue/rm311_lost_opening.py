"""RM311: the opening of an epoch inside or behind a warp-specialized pipeline is dropped.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import fully_replicated, is_power_of_two, nest_of, warp_specialized
from reducer_rules.plans import epoch_of, may_be_wide
from reducer_rules.release import NATIVE_V2, Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Init, Operands, Timeline, Update


class LostOpening(ReleaseRule):
    code = "RM311"
    name = "lost-opening"
    affected = between("0.1.11", "0.1.15")
    summary = "a warp-specialized pipeline drops the opening of an epoch inside or behind it"
    explanation = (
        "On sm_90 a `T.Pipelined` loop of at least one stage that copies to shared memory is "
        "warp-specialized by default, and what stands behind it runs in its consumers, too. "
        "TileLang 0.1.14 and 0.1.15 leave a `T.reducer_init` inside of it or behind it, with a "
        "seed or not, out of the code where every thread has a partial of every output, which it "
        "has when an index is no variable of the loop or numbers only some of the outputs, when "
        "updates differ, and when all threads stand for one axis that is reduced: the sums begin "
        "with what the registers hold. From 0.1.11 on they do so to the clear of a replicated v1 "
        "reducer. An epoch that opens before the loop is right on 0.1.14 and later (RM303 before), "
        "also in a loop around it, and so are pipelines that copy to fragments, and sm_80. "
        "Established by interpreting the code of all releases, and read in their sources: the "
        "layout of such partials is that of the first threads of the block, not of the consumers."
    )
    help = (
        'open the epoch before the loop, pass the config `"tl.disable_warp_specialized": '
        "True`, or import reducer_compat"
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32")
total = T.alloc_fragment((1,), "float32")
shared = T.alloc_shared((128,), "float32")
T.reducer_init(acc)
for k in T.Pipelined(4, num_stages=2):
    T.copy(A[k, 0:128], shared)
    for i in T.Parallel(128):
        T.reducer_update(acc[0], shared[i])
T.finalize_reducer(acc, total)
T.copy(total, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
total = T.alloc_fragment((1,), "float32")
shared = T.alloc_shared((128,), "float32")
for k in T.serial(4):
    T.reducer_init(acc)
    T.copy(A[k, 0:128], shared)
    for i in T.Parallel(128):
        T.reducer_update(acc[0], shared[i])
    T.finalize_reducer(acc, total)
    T.copy(total, B[k])
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32")
total = T.alloc_fragment((1,), "float32")
shared = T.alloc_shared((128,), "float32")
sums = T.alloc_fragment((128,), "float32")
T.clear(sums)
for k in T.Pipelined(4, num_stages=2):
    T.copy(A[k, 0:128], shared)
    for i in T.Parallel(128):
        sums[i] += shared[i]
T.reducer_init(acc)
for i in T.Parallel(128):
    T.reducer_update(acc[0], A[0, i])
T.finalize_reducer(acc, total)
T.copy(total, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
total = T.alloc_fragment((1,), "float32")
shared = T.alloc_shared((128,), "float32")
for k in T.Pipelined(4, num_stages=2):
    T.reducer_init(acc)
    T.copy(A[k, 0:128], shared)
    for i in T.Parallel(128):
        T.reducer_update(acc[0], shared[i])
    T.finalize_reducer(acc, total)
    T.copy(total, B[k])
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
shared = T.alloc_shared((128,), "float32")
for k in T.Pipelined(4, num_stages=1):
    T.copy(A[k, 0:128], shared)
    for r in T.serial(2):
        T.fill(acc, -T.infinity("float32"))
        for i in T.Parallel(128):
            acc[0] = T.max(acc[0], shared[i])
        T.finalize_reducer(acc)
        T.copy(acc, B[k])
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        judged = self.judged_on(timeline, target)
        if not judged or timeline.kernel.warp_specialized is False:
            return
        for init in timeline.inits:
            loop = warp_specialized(init) or init.behind
            if loop is None:
                continue
            releases = tuple(
                release
                for release in judged
                if (loop.by_tma or release < NATIVE_V2) and _loses(release, init, timeline)
            )
            if releases:
                yield self.finding(
                    init,
                    f"on sm_90 {named(releases)} loses the opening of `{timeline.name}` when it "
                    f"warp-specializes the pipelined loop at line {loop.span.line}",
                    target,
                )


def _loses(release: Release, init: Init, timeline: Timeline) -> bool:
    """Whether each thread has a partial of every output, on a release."""
    updates = epoch_of(init, timeline)
    if not updates:
        return False
    if release >= NATIVE_V2:
        return may_be_wide(updates, timeline)
    return fully_replicated(timeline) and all(map(_reads_memory, updates))


def _reads_memory(update: Update) -> bool:
    nest = nest_of(update)
    return update.operands is Operands.MEMORY and (nest is None or is_power_of_two(nest.size))
