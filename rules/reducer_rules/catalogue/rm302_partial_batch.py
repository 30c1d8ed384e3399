"""RM302: a batched finalize that reduces its first batch only.

https://github.com/tile-ai/tilelang/issues/2623
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.nest import fully_replicated, outputs
from reducer_rules.release import NATIVE_V2, Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Dialect, Timeline

#: Up to this many threads the finalize shuffles within one warp and ignores the batch.
_WARP = 32


class PartialBatch(ReleaseRule):
    code = "RM302"
    name = "partial-batch"
    affected = between("0.1.10", "0.1.15")
    summary = "a batched finalize reduces its first batch only"
    explanation = (
        "With `batch` the finalize calls the batched collective once, on the first `batch` "
        "outputs; the others keep the partial of one thread (tile-ai/tilelang#2623). A batch of 1 "
        "and one of all outputs are right, as is any batch on at most 32 threads. Seen in the code "
        "of TileLang 0.1.10, the first with `batch`, to 0.1.15, in v1 and v2 spelling; a batch "
        "that does not divide the outputs fails to compile there."
    )
    help = "drop `batch`, which is a hint, or import reducer_compat, which ignores it"
    example_target = Target(Release.parse("0.1.13"))
    valid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i, j in T.Parallel(8, 128):
    acc[i] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i, j in T.Parallel(8, 128):
    acc[i] += A[i]
T.finalize_reducer(acc, batch=8)
T.copy(acc, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((8,), "float32", replication="all")
T.clear(acc)
for i, j in T.Parallel(8, 128):
    acc[i] += A[i]
T.finalize_reducer(acc, batch=2)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((4, 4), "float32", replication="all")
T.clear(acc)
for i, j, k in T.Parallel(4, 4, 128):
    acc[i, j] += A[i]
T.finalize_reducer(acc, batch=4)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        count, threads = outputs(timeline), timeline.kernel.threads
        if not releases or count is None or (threads is not None and threads <= _WARP):
            return
        if not _collective(timeline, releases):
            return
        for finalize in timeline.finalizes:
            batch = finalize.batch.value if finalize.batch else None
            if batch is None or batch < 1 or batch in (1, count):
                continue
            outcome = (
                f"refuses to compile a batch of {batch} for {count} outputs"
                if count % batch
                else f"reduces only the first {batch} of the {count} outputs"
            )
            yield self.finding(
                finalize, f"{named(releases)} {outcome} of `{timeline.name}`", target
            )


def _collective(timeline: Timeline, releases: tuple[Release, ...]) -> bool:
    """Whether the finalize combines threads at all: a v1 default allocation does not."""
    v1 = Dialect.V1 in timeline.dialects()
    return fully_replicated(timeline) or not v1 or releases[0] >= NATIVE_V2
