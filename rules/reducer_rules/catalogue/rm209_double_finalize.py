"""RM209: one epoch is finalized twice.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import Lifetime, distinct, lifetimes, repeats
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Finalize, Timeline, exclusive


class DoubleFinalize(SemanticRule):
    code = "RM209"
    name = "double-finalize"
    summary = "one epoch is finalized twice"
    explanation = (
        "A second collective over partials that are already combined would count them again. The "
        "RFC (tile-ai/tilelang#2897) rejects it, TileLang up to 0.1.13 ends in an internal error "
        '("must have a pairing T.fill ahead of it"), and from 0.1.14 on the verifier refuses it. '
        "That reads the program text: the two arms of a run-time `if` count as two."
    )
    help = "finalize once"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
for k in T.serial(4):
    T.clear(acc)
    for i in T.Parallel(8):
        acc[0] += A[i]
    T.finalize_reducer(acc)
    B[0] = acc[0]
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if B[0] > 0:
    T.finalize_reducer(acc)
    B[0] = acc[0]
else:
    T.finalize_reducer(acc)
    B[0] = -acc[0]
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        found = [pair for life in lifetimes(timeline) for pair in _repeated(life)]
        first = {later.ident: earlier for earlier, later in reversed(found)}
        for finalize in distinct(later for _, later in found):
            yield self._judge(first[finalize.ident], finalize, timeline, target)

    def _judge(
        self, earlier: Finalize, later: Finalize, timeline: Timeline, target: Target
    ) -> Finding:
        name, line = timeline.name, earlier.span.line
        if exclusive(earlier.context, later.context):
            return self.finding(
                later,
                f"reducer `{name}` is finalized in both arms of a condition that is not resolved "
                f"at compile time; the other is on line {line}",
                target,
                help="finalize it once, before the condition",
                label="second finalize",
            )
        return self.finding(
            later,
            f"reducer `{name}` is finalized a second time; the first is on line {line}",
            target,
            label="second finalize",
        )


def _repeated(life: Lifetime) -> Iterator[tuple[Finalize, Finalize]]:
    """Repeated finalizes of one opening; where the opening repeats as well it is RM208's."""
    for earlier, later in repeats(life.of(Finalize)):
        if life.opener(earlier) is life.opener(later):
            yield earlier, later
