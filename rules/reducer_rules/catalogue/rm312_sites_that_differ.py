"""RM312: native v2 takes the plan of one update for all updates of a loop.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import outputs
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Loop, LoopKind, Timeline, Update

#: Outputs, at most, for which TileLang can keep a partial of each in every thread.
_MOST = 256


class SitesThatDiffer(ReleaseRule):
    code = "RM312"
    name = "sites-that-differ"
    affected = between("0.1.14", "0.1.15")
    summary = "updates of one loop go to different indices of a reducer of many outputs"
    explanation = (
        "Where two updates in one `T.Parallel` loop have different indices, TileLang 0.1.14 and "
        "0.1.15 keep a partial of every output in each thread. Above 256 outputs that is refused, "
        "and they take the plan of the last update for all: the others are counted in the wrong "
        "places, silently. Where the last one has no plan of its own either, the compiler stops "
        "in an internal error that names 256 slots. In all cases tried one of both happened. "
        "Established by interpreting the code of both releases."
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
        count = outputs(timeline)
        if not releases or count is None or count <= _MOST:
            return
        last: dict[int, Update] = {}
        for update in timeline.updates:
            loop = _parallel(update)
            other = last.get(loop.ident) if loop is not None else None
            if loop is None or (other is not None and _places(other) == _places(update)):
                continue
            last[loop.ident] = update
            if other is not None:
                yield self.finding(
                    update,
                    f"{named(releases)} takes one plan for this update of `{timeline.name}` and "
                    f"the one at line {other.span.line}, whose indices differ, since the reducer "
                    f"has {count} outputs: the result is wrong, or an internal error",
                    target,
                )


def _parallel(update: Update) -> Loop | None:
    """The outermost parallel loop around an update."""
    return next((loop for loop in update.loops if loop.kind is LoopKind.PARALLEL), None)


def _places(update: Update) -> tuple[str, ...]:
    return tuple(index.text for index in update.indices)
