"""RM103: `T.clear` or `T.fill` opens an epoch.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import fill_of, is_identity
from reducer_rules.rule import Finding, LegacyRule, Target
from reducer_rules.timeline import Init, InitForm, Timeline


class ClearOrFillOpener(LegacyRule):
    code = "RM103"
    name = "clear-or-fill-opener"
    summary = "`T.clear` or `T.fill` opens an epoch"
    explanation = (
        "v1 opened an epoch by writing every thread's partial; v2 has `T.reducer_init`, which "
        "starts each partial at the identity of the combine and takes an optional seed that is "
        "combined once per output (tile-ai/tilelang#2940). For max and min a fill of every "
        "partial equals one seed, so a fill that is not the identity is kept as a seed. "
        "`T.clear` of a max or min reducer is such a fill: it clamps the result at 0."
    )
    help = "open the epoch with T.reducer_init"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="max")
T.reducer_init(acc, 0)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
total = T.alloc_fragment((8,), "float32")
T.clear(total)
T.fill(total, 1)
T.copy(total, A)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
T.fill(acc, 0)
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for init in timeline.inits:
            if init.form is not InitForm.REDUCER_INIT:
                yield self.finding(
                    init,
                    f"reducer `{timeline.name}` is opened with {init.form.value}",
                    target,
                    help=f"write `{_opening(timeline, init)}`",
                    label="v1 opening",
                )


def _opening(timeline: Timeline, init: Init) -> str:
    fill = fill_of(init)
    if fill is None or is_identity(timeline.op, timeline.dtype, fill):
        return f"T.reducer_init({timeline.name})"
    return f"T.reducer_init({timeline.name}, {fill.text})"
