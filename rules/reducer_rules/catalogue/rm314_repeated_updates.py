"""RM314: native v2 counts the copies of a small fragment in a warp-specialized pipeline.

Found by running the wheels; see docs/releases.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reducer_rules.nest import divided
from reducer_rules.plans import epoch_of, may_be_wide, may_repeat
from reducer_rules.release import Release, between, named
from reducer_rules.rule import Finding, ReleaseRule, Target
from reducer_rules.timeline import Init, Timeline, Update


class RepeatedUpdates(ReleaseRule):
    code = "RM314"
    name = "repeated-updates"
    affected = between("0.1.14", "0.1.15")
    summary = "threads that hold a small fragment together all count its values"
    explanation = (
        "On sm_90 a `T.Pipelined` loop of at least one stage that copies to shared memory is "
        "warp-specialized by default, and an epoch that opens before it opens in producers and "
        "consumers, while only these update. Where each thread has a partial of every output, "
        "TileLang 0.1.14 and 0.1.15 compare the numbers of threads, do not know their own plan "
        "again, and leave the guard out that makes one of several threads count. Several threads "
        "run an iteration where the loop reads a fragment of fewer elements than there are "
        "consumers: 32 values on 128 threads count 4 times. Other operations than sums and xor do "
        "not mind, and updates whose indices are variables of the loop for whole axes of the "
        "outputs are right. Established by interpreting the code of both releases."
    )
    help = (
        "copy the fragment to shared memory and read it there, pass the config "
        '`"tl.disable_warp_specialized": True`, or import reducer_compat'
    )
    example_target = Target(Release.parse("0.1.15"))
    valid = (
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        shared = T.alloc_shared((32,), "float32")
        acc = T.alloc_reducer((128,), "float32")
        result = T.alloc_fragment((128,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:32], shared)
            for i, j in T.Parallel(32, 64):
                T.reducer_update(acc[j], shared[i])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=128):
        shared = T.alloc_shared((32,), "float32")
        tile = T.alloc_fragment((32,), "float32")
        acc = T.alloc_reducer((64,), "float32", op="max")
        result = T.alloc_fragment((64,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:32], shared)
            T.copy(shared, tile)
            for i in T.Parallel(32):
                T.reducer_update(acc[63 - i], tile[i])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
    )
    invalid = (
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        shared = T.alloc_shared((32,), "float32")
        tile = T.alloc_fragment((32,), "float32")
        acc = T.alloc_reducer((128,), "float32")
        result = T.alloc_fragment((128,), "float32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k, 0:32], shared)
            T.copy(shared, tile)
            for i, j in T.Parallel(32, 64):
                T.reducer_update(acc[j], tile[i])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
        """\
@T.prim_func
def kernel(A: T.Tensor((4, 8, 8), "int32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=128):
        shared = T.alloc_shared((8, 8), "int32")
        tile = T.alloc_fragment((8, 8), "int32")
        acc = T.alloc_reducer((4,), "int32", op="bitxor")
        result = T.alloc_fragment((4,), "int32")
        T.reducer_init(acc)
        for k in T.Pipelined(4, num_stages=1):
            T.copy(A[k, 0:8, 0:8], shared)
            T.copy(shared, tile)
            for i, j in T.Parallel(8, 8):
                T.reducer_update(acc[i // 2], tile[i, j])
        T.finalize_reducer(acc, result)
        T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        releases = self.judged_on(timeline, target)
        kernel, op = timeline.kernel, timeline.op
        if not releases or kernel.warp_specialized is False or (op is not None and op.idempotent):
            return
        for update in _consumers(timeline):
            if may_repeat(update, kernel.threads):
                yield self.finding(
                    update,
                    f"on sm_90 {named(releases)} counts contributions to `{timeline.name}` several "
                    f"times: the {kernel.threads} consumers hold copies of a smaller fragment",
                    target,
                )


def _consumers(timeline: Timeline) -> Iterator[Update]:
    """The updates in a warp-specialized loop of epochs that open before it, with a wide plan."""
    for init in timeline.inits:
        updates = epoch_of(init, timeline)
        before = divided(init) is None and not _is_behind(init)
        if before and _divided(updates) and may_be_wide(updates, timeline):
            yield from updates


def _is_behind(init: Init) -> bool:
    return init.behind is not None and init.behind.by_tma


def _divided(updates: Sequence[Update]) -> bool:
    return any(divided(update) is not None for update in updates)
