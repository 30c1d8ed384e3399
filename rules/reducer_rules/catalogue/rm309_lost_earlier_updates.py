"""RM309: native v2 loses what an epoch counts before its warp-specialized pipeline.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import divided
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Loop, Timeline, Update


class LostEarlierUpdates(ReleaseRule):
    code = "RM309"
    name = "lost-earlier-updates"
    affected = between("0.1.14", "0.1.15")
    summary = (
        "updates before a warp-specialized pipeline of the same epoch are lost, all or in part"
    )
    explanation = (
        "On sm_90 a `T.Pipelined` loop of at least one stage that copies to shared memory is "
        "warp-specialized by default: its consumers are the threads behind the first ones. An "
        "update that stands before the loop is made by all of them, and the finalize of TileLang "
        "0.1.14 and 0.1.15 combines the consumers alone: none or a part is counted. Updates after "
        "the loop or in another such loop are right, and so are pipelines that copy to fragments, "
        "and sm_80. Established by interpreting the code of both releases; v1 code on 0.1.11 to "
        "0.1.13 has RM303 there instead."
    )
    help = (
        "move the update behind the pipelined loop, pass the config "
        '`"tl.disable_warp_specialized": True`, or import reducer_compat'
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
acc = T.alloc_reducer((128,), "float32")
result = T.alloc_fragment((128,), "float32")
shared = T.alloc_shared((128,), "float32")
T.reducer_init(acc)
for k in T.Pipelined(4, num_stages=2):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        T.reducer_update(acc[i], shared[i])
for i in T.Parallel(128):
    T.reducer_update(acc[i], B[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((128,), "float32")
result = T.alloc_fragment((128,), "float32")
shared = T.alloc_shared((128,), "float32")
T.reducer_init(acc)
for i in T.Parallel(128):
    T.reducer_update(acc[i], B[i])
for k in T.serial(4):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        T.reducer_update(acc[i], shared[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((128,), "float32")
result = T.alloc_fragment((128,), "float32")
shared = T.alloc_shared((128,), "float32")
T.reducer_init(acc)
for i in T.Parallel(128):
    T.reducer_update(acc[i], B[i])
for k in T.Pipelined(4, num_stages=2):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        T.reducer_update(acc[i], shared[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((128,), "float32", replication="all")
shared = T.alloc_shared((128,), "float32")
T.clear(acc)
for r in T.serial(2):
    for i in T.Parallel(128):
        acc[i] += B[i]
    for k in T.Pipelined(4, num_stages=1):
        T.copy(A[0], shared)
        for i in T.Parallel(128):
            acc[i] += shared[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases or timeline.kernel.warp_specialized is False:
            return
        for update in timeline.updates:
            loop = None if divided(update) else _later_pipeline(update, timeline)
            if loop is not None:
                yield self.finding(
                    update,
                    f"on sm_90 {named(releases)} loses contributions to `{timeline.name}` when "
                    f"it warp-specializes the pipelined loop at line {loop.span.line}",
                    target,
                )


def _later_pipeline(update: Update, timeline: Timeline) -> Loop | None:
    """The pipeline of a later update of the same epoch."""
    closed = min((f.ident for f in timeline.finalizes if f.ident > update.ident), default=None)
    for later in timeline.updates:
        if later.ident > update.ident and (closed is None or later.ident < closed):
            loop = divided(later)
            if loop is not None:
                return loop
    return None
