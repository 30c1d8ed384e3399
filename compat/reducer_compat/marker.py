"""Markers: how the statements of a reducer travel through TileLang as calls of no function.

A marker is ``call_extern("handle", "reducer_compat.KIND", ...)``. The language surface writes
the first six kinds, `carry` turns them into code and into the others:

    alloc     acc[0..], op, replication, location
    init      acc[0..], form, location[, seed]
    update    acc[0..], form, combine, location, value, indices...
    store     acc[0..], what, location, value, indices...
    finalize  acc[0..], batch, location[, dst[0..]]
    line      location, of the statement that follows
    partial   op, partial[0], flat index, value, thread[, pointer]; stored into the partial
    hold      fragment[0..]
    stay      nothing; before what the consumers of a pipelined loop are to keep

A marker that reaches code generation is a call of an undeclared function: it cannot compile
to a wrong number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.once import once

PREFIX = "reducer_compat."
NONE = "-"


@dataclass(slots=True, eq=False)
class Marker:
    """A marker read back from TIR. `target` is a buffer, where the first operand names one.

    Most of who asks wants its kind alone, so the operands are read when they are asked for.
    """

    kind: str
    call: Any
    _args: tuple[Any, ...] | None = field(default=None, init=False)

    @property
    def args(self) -> tuple[Any, ...]:
        """The operands after the name."""
        if self._args is None:
            args = self.call.args
            self._args = (args if type(args) is tuple else tree.items(args))[1:]
        return self._args

    @property
    def target(self) -> Any:
        return self.args[0].buffer

    def text(self, position: int) -> str:
        return str(self.args[position].value)


def build(kind: str, *args: Any, dtype: str = "handle") -> Any:
    """The call of one marker; Python strings become string literals."""
    here = adapter()
    literal = here.tir.StringImm
    operands = [literal(PREFIX + kind)]
    operands += [literal(arg) if isinstance(arg, str) else arg for arg in args]
    return here.tir.Call(dtype, here.op("call_extern"), operands)


def origin(buffer: Any) -> Any:
    """`buffer[0, ..., 0]`: names a buffer inside a marker without using a loop variable."""
    tir = adapter().tir
    return tir.BufferLoad(buffer, [tir.IntImm("int32", 0)] * len(buffer.shape))


@once
def read(stmt: Any) -> Marker | None:
    """The marker that a statement is, or None; a waiting update is a store of its marker."""
    tir = adapter().tir
    if type(stmt) is tir.Evaluate:
        return call_marker(stmt.value)
    found = call_marker(stmt.value) if type(stmt) is tir.BufferStore else None
    return found if found is not None and found.kind == "partial" else None


def call_marker(call: Any) -> Marker | None:
    """The marker that an expression is, or None."""
    tir = adapter().tir
    if type(call) is not tir.Call:
        return None
    first = tree.first(call.args)
    if type(first) is not tir.StringImm:
        return None
    name = str(first.value)
    return Marker(name[len(PREFIX) :], call) if name.startswith(PREFIX) else None


def operands(values: Sequence[Any]) -> list[Any]:
    """Python numbers as 32-bit constants, everything else as it is."""
    tir = adapter().tir
    return [tir.IntImm("int32", value) if isinstance(value, int) else value for value in values]
