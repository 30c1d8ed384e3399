"""RM201: a sum that is opened with something else than 0.

https://github.com/tile-ai/tilelang/pull/2940
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import fill_of, is_identity
from reducer_rules.monoid import Op
from reducer_rules.rule import Finding, Fix, SemanticRule, Target
from reducer_rules.timeline import Init, InitForm, Timeline


class NonIdentityFill(SemanticRule):
    code = "RM201"
    name = "non-identity-fill"
    fix = Fix.UNSAFE
    summary = "a sum is opened with something else than 0"
    explanation = (
        "v1 filled the partial of every thread, and the finalize added all of them: the fill "
        "entered the result once per participating thread, so the result depended on the thread "
        "count. The compatibility shim of TileLang 0.1.14 and later refuses such a fill "
        "(tile-ai/tilelang#2940). A seed, `T.reducer_init(acc, value)`, enters once per output, "
        "which is mostly what was meant and is not what v1 computed; so the rewrite is unsafe. "
        "For max and min a fill equals a seed, and this rule is silent."
    )
    help = "give the value as a seed, which is added once per output, if that is what was meant"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.fill(acc, 0.0)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="max", replication="all")
T.fill(acc, 1)
for i in T.Parallel(8):
    acc[0] = T.max(acc[0], A[i])
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32")
T.reducer_init(acc, 1)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
result = T.alloc_fragment((1,), "float32")
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.fill(acc, 1)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.fill(acc, B[0])
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        if timeline.op is not Op.SUM:
            return
        for init in timeline.inits:
            if init.form is InitForm.FILL:
                yield from self._judge(init, timeline, target)

    def _judge(self, init: Init, timeline: Timeline, target: Target) -> Iterator[Finding]:
        fill = fill_of(init)
        known = is_identity(timeline.op, timeline.dtype, fill)
        if fill is None or known:
            return
        doubt = "" if known is False else ", which is not known to be 0"
        yield self.finding(
            init,
            f"sum reducer `{timeline.name}` is filled with `{fill.text}`{doubt}: v1 adds it once "
            "per participating thread",
            target,
            help=f"write `T.reducer_init({timeline.name}, {fill.text})` if it should be added "
            "once per output",
            label="not the identity of sum",
        )
