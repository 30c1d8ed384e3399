"""RM310: native v2 writes a result to the beginning of a buffer, not to the part that is named.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Timeline


class ShiftedDestination(ReleaseRule):
    code = "RM310"
    name = "shifted-destination"
    affected = between("0.1.14", "0.1.15")
    summary = "a result goes to the beginning of a buffer instead of the part that is named"
    explanation = (
        "The finalize of TileLang 0.1.14 and 0.1.15 takes the whole buffer that a part such as "
        "`out[8:16]` is cut from, and writes the first elements of it: the ones that are named "
        "keep what they had. It is silent where the buffer has as many axes as the reducer, and "
        "an internal error that speaks of the same logical shape where it has more. A part that "
        "starts at 0 along every axis is right. Established by interpreting the code of both "
        "releases, with fragments, shared memory and parameters."
    )
    help = (
        "finalize into a fragment of the reducer's shape and copy that to the part, or import "
        "reducer_compat"
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
acc = T.alloc_reducer((8,), "float32")
result = T.alloc_fragment((8,), "float32")
T.reducer_init(acc)
for i, j in T.Parallel(16, 8):
    T.reducer_update(acc[j], A[i, j])
T.finalize_reducer(acc, result)
T.copy(result, B[8:16])
""",
        """\
acc = T.alloc_reducer((8,), "float32")
rows = T.alloc_shared((24,), "float32")
T.reducer_init(acc)
for i, j in T.Parallel(16, 8):
    T.reducer_update(acc[j], A[i, j])
T.finalize_reducer(acc, rows[:8])
T.copy(rows, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((8,), "float32")
rows = T.alloc_shared((24,), "float32")
T.reducer_init(acc)
for i, j in T.Parallel(16, 8):
    T.reducer_update(acc[j], A[i, j])
T.finalize_reducer(acc, rows[8:16])
T.copy(rows, B)
""",
        """\
acc = T.alloc_reducer((8,), "float32")
for k in T.serial(4):
    T.reducer_init(acc)
    for i, j in T.Parallel(16, 8):
        T.reducer_update(acc[j], A[i, j])
    T.finalize_reducer(acc, B[k * 8])
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases:
            return
        for finalize in timeline.finalizes:
            if any(start.value != 0 for start in finalize.destination_start):
                yield self.finding(
                    finalize,
                    f"{named(releases)} writes the result of `{timeline.name}` to the beginning of "
                    f"the buffer, not to `{finalize.destination}`",
                    target,
                )
