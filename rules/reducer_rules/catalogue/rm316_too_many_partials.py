"""RM316: more outputs than native v2 keeps partials of in each thread.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import outputs
from reducer_rules.plans import combines_all
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline

#: The partials that a thread holds at most where every thread holds one of each output.
_MOST = 256


class TooManyPartials(ReleaseRule):
    code = "RM316"
    name = "too-many-partials"
    affected = between("0.1.14", "0.1.15")
    summary = "a reducer has more outputs than a thread may hold partials of"
    explanation = (
        "Where TileLang 0.1.14 and 0.1.15 cannot tell which threads share an output, every thread "
        "keeps a partial of all outputs, and more than 256 end in an internal error "
        "(`kMaxWidePlanSlots`). That is where an index is no variable of the loop for a whole "
        "axis, and in nests over memory that have fewer iterations than threads, or extents that "
        "are all powers of two. Up to 0.1.13 the layout of the loop decides, without such a "
        "limit, and reducer_compat has none either."
    )
    help = (
        "reduce a part of the outputs at a time, copy the tile to a fragment first, or import "
        "reducer_compat"
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
acc = T.alloc_reducer((256,), "float32")
result = T.alloc_fragment((256,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[i * 32], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((600,), "float32")
result = T.alloc_fragment((600,), "float32")
T.reducer_init(acc)
for i in T.Parallel(600):
    T.reducer_update(acc[i], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((512,), "float32")
result = T.alloc_fragment((512,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[i * 64], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((128, 4), "float32")
result = T.alloc_fragment((128, 4), "float32")
T.reducer_init(acc)
for i, j, k in T.Parallel(128, 4, 8):
    T.reducer_update(acc[i, j], A[k])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases, held = self.judged_on(timeline, target), outputs(timeline)
        if not releases or held is None or held <= _MOST:
            return
        if any(combines_all(update, timeline) for update in timeline.updates):
            yield self.finding(
                timeline.allocs[0],
                f"`{timeline.name}` has {held} outputs, and every thread would hold a partial of "
                f"each: {named(releases)} fails to compile more than {_MOST}",
                target,
            )
