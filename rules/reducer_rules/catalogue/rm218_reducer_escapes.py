"""RM218: a reducer is used in a way that cannot be followed.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

from collections.abc import Iterator

from reducer_rules.epochs import escapes
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import EscapeKind, Timeline

_ELSEWHERE = frozenset({EscapeKind.ALIAS, EscapeKind.REBIND})
#: What to do where the reducer stays in the function and cannot be followed all the same.
_HELP = {
    EscapeKind.ARGUMENT: (
        "keep the epoch in one function and the macros (`@T.macro`) that it calls by name, with "
        "arguments written out, and pass its result on"
    ),
    EscapeKind.RECURSION: "write a loop: what happens to the reducer depends on how often it calls",
    EscapeKind.TARGET: "bind the reducer to a name of its own in this function",
    EscapeKind.UNPACKED: "write the arguments of the call out, one by one",
    EscapeKind.PARAMETER: "drop the argument",
}


class ReducerEscapes(SemanticRule):
    code = "RM218"
    name = "reducer-escapes"
    summary = "a reducer is used in a way that cannot be followed"
    explanation = (
        "A reducer may appear in its init, its updates and its finalize, and nowhere else: "
        "TileLang from 0.1.14 on refuses any other use of the handle, its address included, and "
        "so does the RFC (tile-ai/tilelang#2897). Where it is passed on, returned or stored, "
        "what happens to it is not in this function, so nothing is rewritten. One exception "
        "is a read of the whole reducer after an in-place finalize, which is a read of its result. "
        "The other is a `@T.macro` of the project that is called by its name: its statements are "
        "traced where it is called, and are judged there. They are rewritten where the macro is in "
        "the same file, every use of it passes a reducer, and all of these ask for the same text."
    )
    help = "keep the whole epoch in one function, and pass its result on"
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
acc = T.alloc_reducer((1,), "float32")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
accumulate(acc, A)
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
parts = [acc]
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.fill(acc, **opening)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.fill(acc, 0, annotations={"hint": 1})
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for escape in escapes(timeline):
            if escape.kind not in _ELSEWHERE:
                detail = f": `{escape.detail}`" if escape.detail else ""
                yield self.finding(
                    escape,
                    f"reducer `{timeline.name}` {escape.kind.value}{detail}",
                    target,
                    help=_HELP.get(escape.kind),
                    label="escapes here",
                )
