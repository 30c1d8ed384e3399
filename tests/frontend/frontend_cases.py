"""Build timelines from the body of a kernel, for tests of the front end."""

from __future__ import annotations

import ast
import textwrap

from reducer_migrate.frontend import Unit, build
from reducer_migrate.source import Source
from reducer_rules.timeline import Timeline

HEAD = """\
import tilelang.language as T


def factory(n, dtype, flag=True, op="sum"):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), dtype), m: T.int32):
        with T.Kernel(1, threads=128) as bx:
"""
EPOCH = """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
"""


def unit(text: str) -> Unit:
    source = Source.of(text)
    return build(source, ast.parse(text))


def kernel(body: str, head: str = HEAD) -> str:
    """`body` inside a kernel inside a factory."""
    return head + textwrap.indent(textwrap.dedent(body), " " * 12)


def timeline(body: str, head: str = HEAD) -> Timeline:
    """The timeline of the only reducer in `body`."""
    (reducer,) = unit(kernel(body, head)).reducers
    return reducer.timeline


def events(body: str) -> list[str]:
    """The kinds of events of the only reducer in `body`, in order."""
    return [type(event).__name__ for event in timeline(body).events]
