"""RM217: a reducer's operation is none that reducers have.

https://github.com/tile-ai/tilelang/issues/2897
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reducer_rules.monoid import Op, is_float
from reducer_rules.rule import Finding, SemanticRule, Target
from reducer_rules.timeline import Alloc, Timeline

_BITWISE = frozenset({Op.BITAND, Op.BITOR, Op.BITXOR})
#: What to do instead, for names that people try.
_INSTEAD = {
    "mean": 'reduce with op="sum" and divide the result',
    "avg": 'reduce with op="sum" and divide the result',
    "sub": 'reduce with op="sum" and contribute the negated value',
    "abssum": 'reduce with op="sum" and contribute T.abs(value)',
    "absmax": 'reduce with op="max" and contribute T.abs(value)',
    "mul": 'the product is op="prod"',
    "and": 'the bitwise operation is op="bitand"',
    "or": 'the bitwise operation is op="bitor"',
    "xor": 'the bitwise operation is op="bitxor"',
    "any": 'reduce with op="max", or op="bitor" on an integer dtype',
    "all": 'reduce with op="min", or op="bitand" on an integer dtype',
}
#: A string literal without escapes, and nothing around it.
_PLAIN = re.compile(r"(?P<quote>[\"'])(?P<content>[^\"'\\]*)(?P=quote)")


class UnsupportedCombine(SemanticRule):
    code = "RM217"
    name = "unsupported-combine"
    summary = "a reducer's operation is none that reducers have"
    explanation = (
        "Partials are combined in any order, so the operation must be associative and "
        "commutative and have an identity: the RFC (tile-ai/tilelang#2897) names sum, prod, max, "
        "min, bitand, bitor and bitxor, and rejects the rest. TileLang up to 0.1.13 has sum, max "
        "and min; 0.1.14 and 0.1.15 add the bitwise ones, for integers. prod, and "
        "bitwise ones for bool, need reducer_compat on every release."
    )
    help = "use one of sum, max, min, bitand, bitor, bitxor, or prod with reducer_compat"
    valid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="max")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "int32", op="bitor")
result = T.alloc_fragment((1,), "int32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], T.cast(A[i], "int32"))
T.finalize_reducer(acc, result)
B[0] = T.cast(result[0], "float32")
""",
    )
    invalid = (
        """\
acc = T.alloc_reducer((1,), "float32", op="mean")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
        """\
acc = T.alloc_reducer((1,), "float32", op="bitand")
result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, result)
T.copy(result, B)
""",
    )

    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        for alloc in timeline.allocs:
            problem = _problem(alloc, target)
            if problem is not None:
                what, help = problem
                yield self.finding(
                    alloc,
                    f"reducer `{timeline.name}` {what}",
                    target,
                    help=help,
                    label="unsupported combine",
                )


def _problem(alloc: Alloc, target: Target) -> tuple[str, str] | None:
    if alloc.op is None:
        name = _literal(alloc.op_text)
        if name is None:
            return None
        instead = _INSTEAD.get(name, UnsupportedCombine.help)
        return (f'is combined by "{name}", which is no reduction operation', instead)
    if alloc.op is Op.PROD and not target.compat:
        return ("is combined by prod, which TileLang does not have", "import reducer_compat")
    if alloc.op in _BITWISE and alloc.dtype is not None and is_float(alloc.dtype):
        return (
            f"is combined by {alloc.op}, which {alloc.dtype} does not have",
            "use an integer dtype",
        )
    if alloc.op in _BITWISE and alloc.dtype == "bool" and not target.compat:
        return (
            f"is combined by {alloc.op}, which TileLang does not have for bool",
            "use an integer dtype, or import reducer_compat",
        )
    return None


def _literal(text: str | None) -> str | None:
    """The content of a plain string literal, or None for any other expression."""
    found = _PLAIN.fullmatch(text or "")
    return found["content"] if found else None
