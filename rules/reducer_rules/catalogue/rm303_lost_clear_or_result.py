"""RM303: a warp-specialized pipeline that drops the clear, or the clear and the result.

https://github.com/tile-ai/tilelang/issues/2346
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from reducer_rules.nest import fully_replicated, pipelines
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Loop, Timeline

_ONLY_CLEAR = Release.parse("0.1.11")


class LostClearOrResult(ReleaseRule):
    code = "RM303"
    name = "lost-clear-or-result"
    affected = between("0.1.11", "0.1.13")
    summary = "a warp-specialized pipeline drops the clear of the reducer, or its result"
    explanation = (
        "On sm_90 and later a `T.Pipelined` loop of at least one stage is warp-specialized by "
        "default: the consumers become the threads behind the producer, while the layout of a "
        "replicated reducer still covers the first threads (tile-ai/tilelang#2346). The clear then "
        "runs on no consumer, so the sum starts from whatever the registers hold; on 0.1.12 and "
        "0.1.13 the copy of the result is dropped too. With 256 threads half of the consumers are "
        "cleared. Seen in the code of TileLang 0.1.11 to 0.1.13 for sm_90, sm_100 and sm_120; "
        "0.1.8 to 0.1.10, and sm_80, are right."
    )
    help = (
        'pass the config `"tl.disable_warp_specialized": True`, import reducer_compat, or use '
        "TileLang 0.1.14 or later"
    )
    example_target = Target(Release.parse("0.1.13"))
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
shared = T.alloc_shared((128,), "float32")
T.clear(acc)
for k in T.serial(4):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        acc[0] += shared[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
shared = T.alloc_shared((128,), "float32")
T.clear(acc)
for k in T.Pipelined(4, num_stages=0):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        acc[0] += shared[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
shared = T.alloc_shared((128,), "float32")
T.clear(acc)
for k in T.Pipelined(4, num_stages=2):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        acc[0] += shared[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
shared = T.alloc_shared((128,), "float32")
T.fill(acc, T.min_value("float32"))
for k in T.Pipelined(4, num_stages=1):
    T.copy(A[0], shared)
    for i in T.Parallel(128):
        acc[0] = T.max(acc[0], shared[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases or timeline.kernel.warp_specialized is False:
            return
        if not fully_replicated(timeline):
            return
        loop = next(chain.from_iterable(map(pipelines, timeline.updates)), None)
        if loop is None:
            return
        for init in timeline.inits:
            if init.ident < _first_update_in(loop, timeline) and loop not in init.context:
                yield self.finding(
                    init,
                    f"on sm_90 {named(releases)} loses {_lost(timeline.name, releases)} when it "
                    f"warp-specializes the pipelined loop at line {loop.span.line}",
                    target,
                )


def _first_update_in(loop: Loop, timeline: Timeline) -> int:
    return min(update.ident for update in timeline.updates if loop in update.context)


def _lost(name: str, releases: tuple[Release, ...]) -> str:
    if releases == (_ONLY_CLEAR,):
        return f"the clear of `{name}`"
    if _ONLY_CLEAR in releases:
        return f"the clear of `{name}`, and from 0.1.12 on its result,"
    return f"the clear of `{name}` and its result"
