"""RM313: the producers of a warp-specialized pipeline have to themselves what the consumers need.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Init, Loop, Timeline, Update


class WithheldByProducers(ReleaseRule):
    code = "RM313"
    name = "withheld-by-producers"
    affected = between("0.1.14", "0.1.15")
    summary = "what stands before the first read of a tile is left to the producers of a pipeline"
    explanation = (
        "On sm_90 a `T.Pipelined` loop of at least one stage that copies to shared memory is "
        "warp-specialized by default. TileLang 0.1.14 and 0.1.15 give its producers not only the "
        "copies to shared memory, but also what stands before the first read of such a tile, where "
        "all of that reads global and no shared memory, and assigns to no element: a copy to a "
        "fragment, updates from global memory, a `T.reducer_init` with a seed that is loaded. The "
        "consumers never see it: they lose the updates, read registers that nobody wrote, or "
        "begin with what these hold. Behind the first read of the tile all of that is right, and "
        "so is sm_80. Established by interpreting the code of both releases, and read in their "
        "sources. It happens to kernels without reducers, too."
    )
    help = (
        "move it behind the first statement that reads the tile, copy through shared memory, pass "
        'the config `"tl.disable_warp_specialized": True`, or import reducer_compat'
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32"),
           C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        shared = T.alloc_shared((128,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:128], shared)
            for i in T.Parallel(128):
                T.reducer_update(acc[0], shared[i])
            for i in T.Parallel(128):
                T.reducer_update(acc[0], B[k, i])
        T.finalize_reducer(acc, total)
        T.copy(total, C)
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32"),
           C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        shared = T.alloc_shared((128,), "float32")
        other = T.alloc_shared((128,), "float32")
        weights = T.alloc_fragment((128,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:128], shared)
            T.copy(B[k, 0:128], other)
            T.copy(other, weights)
            for i in T.Parallel(128):
                T.reducer_update(acc[0], shared[i] * weights[i])
        T.finalize_reducer(acc, total)
        T.copy(total, C)
""",
    )
    invalid = (
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32"),
           C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        shared = T.alloc_shared((128,), "float32")
        weights = T.alloc_fragment((128,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:128], shared)
            T.copy(B[k, 0:128], weights)
            for i in T.Parallel(128):
                T.reducer_update(acc[0], shared[i] * weights[i])
        T.finalize_reducer(acc, total)
        T.copy(total, C)
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32"),
           C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        shared = T.alloc_shared((128,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:128], shared)
            for i in T.Parallel(128):
                T.reducer_update(acc[0], B[k, i])
            for i in T.Parallel(128):
                T.reducer_update(acc[0], shared[i])
        T.finalize_reducer(acc, total)
        T.copy(total, C)
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 24, 16), "float32"), B: T.Tensor((4,), "float32"),
           C: T.Tensor((4, 24), "float32")):
    with T.Kernel(1, threads=96):
        acc = T.alloc_reducer((24,), "float32")
        sums = T.alloc_fragment((24,), "float32")
        shared = T.alloc_shared((24, 16), "float32")
        for k in T.Pipelined(4, num_stages=2):
            T.reducer_init(acc, B[k])
            T.copy(A[k, 0:24, 0:16], shared)
            for i, j in T.Parallel(24, 16):
                T.reducer_update(acc[i], shared[i, j])
            T.finalize_reducer(acc, sums)
            T.copy(sums, C[k, 0:24])
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        if not releases or timeline.kernel.warp_specialized is False:
            return
        for event, loop in _withheld(timeline):
            of = f"of `{timeline.name}`"
            update = f"this update {of}, or a copy that it reads,"
            what = f"the opening {of}" if isinstance(event, Init) else update
            yield self.finding(
                event,
                f"on sm_90 {named(releases)} keeps {what} to the producers when it "
                f"warp-specializes the pipelined loop at line {loop.span.line}",
                target,
            )


def _withheld(timeline: Timeline) -> Iterator[tuple[Init | Update, Loop]]:
    events: tuple[Init | Update, ...] = (*timeline.inits, *timeline.updates)
    for event in events:
        if event.withheld is not None and event.withheld.by_tma:
            yield event, event.withheld
