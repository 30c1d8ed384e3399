"""Have the last turns of a pipelined loop written out.

Where the length of a pipelined loop is symbolic, TileLang 0.1.14 and 0.1.15 leave its last turns
a loop, and a wait for copies in it whose number depends on the turn. Code generation takes
constants alone. TileLang's own unrolling, which comes later, writes out what is so marked.
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements

#: On the loops that TileLang makes of a pipelined one.
_PIPELINED = "tl_pipelined_num_stages"
_EXPLICIT = "pragma_unroll_explicit"


def has_turns(func: Any) -> bool:
    """Whether a kernel has turns of a pipelined loop that are to be written out."""
    return any(map(_is_turns, statements(func)))


def write_out(func: Any) -> Any:
    """The kernel with such turns to be written out."""
    return tree.rewritten(func, _enter)


def _is_turns(stmt: Any) -> bool:
    tir = adapter().tir
    if type(stmt) is not tir.For or stmt.kind != tir.ForKind.UNROLLED:
        return False
    return _PIPELINED in stmt.annotations


def _enter(stmt: Any) -> Any:
    if not _is_turns(stmt):
        return None
    annotations = {**dict(stmt.annotations.items()), _EXPLICIT: True}
    return adapter().for_loop(stmt, annotations=annotations)
