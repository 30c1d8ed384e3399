"""RM312: native v2 takes the plan of one update for all updates of a loop.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import outputs
from reducer_rules.plans import surely_wide
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import LoopKind, Operands, Timeline, Update

#: Outputs, at most, for which TileLang can keep a partial of each in every thread.
_MOST = 256
_FRAGMENTS = frozenset({Operands.ELEMENTWISE, Operands.COLLECTIVE})


class SitesThatDiffer(ReleaseRule):
    code = "RM312"
    name = "sites-that-differ"
    affected = between("0.1.14", "0.1.15")
    summary = "an update is counted by the indices of a later one in the same loop"
    explanation = (
        "Where two updates in one `T.Parallel` loop have different indices, TileLang 0.1.14 and "
        "0.1.15 need a partial of every output in each thread. Where the loop reads fragments and "
        "the last update has plain loop variables as indices, and those of other loops too, they "
        "take the plan of that one for all instead: the others are counted in the wrong places, "
        "silently. Above 256 outputs they do so over global and shared memory too, or stop in an "
        "internal error that names 256 slots. With the updates the other way round, and in loops "
        "of their own, all are right up to 256 outputs. Established by interpreting the code of "
        "both releases."
    )
    help = (
        "finalize two reducers, one for each update, and combine their results, or import "
        "reducer_compat"
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
acc = T.alloc_reducer((384,), "float32")
result = T.alloc_fragment((384,), "float32")
T.reducer_init(acc)
for i, k in T.Parallel(384, 4):
    T.reducer_update(acc[i], A[i, k])
    T.reducer_update(acc[i], B[i, k])
T.finalize_reducer(acc, result)
T.copy(result, C)
""",
        """\
acc = T.alloc_reducer((128,), "float32")
result = T.alloc_fragment((128,), "float32")
T.reducer_init(acc)
for i, k in T.Parallel(128, 4):
    T.reducer_update(acc[127 - i], A[i, k])
    T.reducer_update(acc[i], A[i, k])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((4,), "float32")
result = T.alloc_fragment((4,), "float32")
tile = T.alloc_fragment((32, 4), "float32")
T.reducer_init(acc)
T.copy(A, tile)
for i, j in T.Parallel(32, 4):
    T.reducer_update(acc[0], tile[i, j])
    T.reducer_update(acc[j], A[i, j])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((384,), "float32")
result = T.alloc_fragment((384,), "float32")
T.reducer_init(acc)
for i, k in T.Parallel(384, 4):
    T.reducer_update(acc[0], A[i, k])
    T.reducer_update(acc[i], A[i, k])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((32, 12), "float32", op="max", replication="all")
T.fill(acc, -T.infinity("float32"))
for i, j, k in T.Parallel(32, 12, 4):
    acc[j, 0] = T.max(acc[j, 0], A[0, j, k])
    acc[i, j] = T.max(acc[i, j], A[i, j, k])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases:
            return
        count = outputs(timeline)
        many = count is not None and count > _MOST
        loops = _loops(timeline)
        planned = not any(surely_wide(updates[-1], timeline) for updates in loops)
        for updates in loops:
            last = updates[-1]
            places = _places(last, timeline)
            others = [update for update in updates if _places(update, timeline) != places]
            if others and (many or (planned and last.operands in _FRAGMENTS)):
                error = ", or an internal error" if many else ""
                yield self.finding(
                    last,
                    f"{named(releases)} counts the update of `{timeline.name}` at line "
                    f"{others[-1].span.line} by the indices of this one: the result is wrong"
                    f"{error}",
                    target,
                )


def _loops(timeline: Timeline) -> list[list[Update]]:
    """The updates of each outermost parallel loop, in order."""
    found: dict[int, list[Update]] = {}
    for update in timeline.updates:
        loop = next((loop for loop in update.loops if loop.kind is LoopKind.PARALLEL), None)
        if loop is not None:
            found.setdefault(loop.ident, []).append(update)
    return list(found.values())


def _places(update: Update, timeline: Timeline) -> tuple[str, ...]:
    """The texts of the indices, but where there is one place."""
    shape = timeline.shape or (None,) * len(update.indices)
    return tuple(
        "" if extent == 1 else index.text
        for index, extent in zip(update.indices, shape, strict=False)
    )
