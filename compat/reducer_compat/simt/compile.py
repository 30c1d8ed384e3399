"""A TIR device function compiled to a program: variables are slots, the rest is closures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import emit
from .dtypes import parse
from .expr import compile_expr, constant
from .intrinsics import find_call, find_gate
from .lowering import CUDA, Device, Tir
from .program import Gate, Program, Value
from .report import UnsupportedError
from .wave import Wave

_IMPURE_NODES = ("BufferLoad", "Div", "Mod", "FloorDiv", "FloorMod")


class Compiler:
    """State of one compilation, for the device `on`."""

    def __init__(self, func: Any, tir: Tir, on: Device = CUDA):
        self.tir = tir
        self.on = on
        self.program = Program(name=str(func.attrs["global_symbol"]) if _named(func) else "kernel")
        self._slots: dict[Any, int] = {}
        self._bounded: dict[Any, int | None] = {}
        self._sid = 0
        self.program.cell = self._cell(func.body)
        self.program.params = tuple(self.slot_of(p, fresh=True) for p in func.params)

    # -- variables ----------------------------------------------------------------------------

    def slot_of(self, var: Any, fresh: bool = False) -> int:
        """The environment slot of a variable; `fresh` where it is bound."""
        slot = self._slots.get(var)
        if slot is None:
            if not fresh:
                raise UnsupportedError(f"the variable {var}, which nothing binds")
            slot = self.new_slot()
            self._slots[var] = slot
        return slot

    def new_slot(self) -> int:
        """A slot for a value that has no variable."""
        self.program.initial_env.append(None)
        return len(self.program.initial_env) - 1

    # -- buffers ------------------------------------------------------------------------------

    def bind_size(self, var: Any, nbytes: int | None) -> None:
        """Notes how many bytes a pointer variable has; None when only its allocation bounds it."""
        self._bounded[var] = nbytes

    def limit_of(self, buffer: Any, lanes: int) -> Callable[[Wave], int | None]:
        """How many elements of the buffer's scalar dtype an access may reach."""
        if buffer.data not in self._bounded:
            return lambda w: None
        extent = [constant(s) for s in buffer.shape]
        if any(e is None for e in extent):
            return lambda w: None
        count = math.prod(e for e in extent if e is not None) * lanes
        known = self._bounded[buffer.data]
        if known is not None:
            count = min(count, known // parse(str(buffer.dtype)).itemsize)
        return lambda w: count

    def strides_of(self, buffer: Any) -> list[Any]:
        """Strides of a buffer of several dimensions, row-major where none are given."""
        given = list(buffer.strides)
        if given:
            return given
        strides: list[Any] = [self.tir.const(1)]
        for extent in reversed(list(buffer.shape)[1:]):
            strides.insert(0, strides[0] * extent)
        return strides

    # -- statements ---------------------------------------------------------------------------

    def statement(self, text: Callable[[], str]) -> int:
        """A number for a statement, for reports; `text` is called only when there is one."""
        self.program.statements.append(text)
        self._sid = len(self.program.statements) - 1
        return self._sid

    @property
    def where(self) -> str:
        """The text of the statement being compiled."""
        return self.program.text(self._sid) if self.program.statements else ""

    def expr(self, node: Any) -> Value:
        """Compiles an expression; an unknown part is named with its statement."""
        try:
            return compile_expr(self, node)
        except UnsupportedError as error:
            if error.placed:
                raise
            raise UnsupportedError(error.what, self.where, placed=True) from None

    def call(self, node: Any) -> Value:
        """Compiles a call of an intrinsic or of an external function."""
        return find_call(self, node)

    def gates(self, *roots: Any) -> list[Callable[[], Gate]]:
        """Makers of the gates inside expressions, in order."""
        calls = [n for root in roots for n in self.tir.nodes(root) if type(n).__name__ == "Call"]
        makers = [find_gate(self, call) for call in calls]
        return [m for m in makers if m is not None]

    def is_pure(self, root: Any) -> bool:
        """Whether an expression may be evaluated in lanes that do not need it."""
        for node in self.tir.nodes(root):
            name = type(node).__name__
            if name == "Call" or (name in _IMPURE_NODES and not _safe_division(node)):
                return False
        return True

    def _cell(self, body: Any) -> int:
        sizes = [4]
        for node in self.tir.nodes(body):
            name = type(node).__name__
            if name in ("BufferLoad", "BufferStore"):
                if str(node.buffer.scope()).startswith("shared"):
                    sizes.append(parse(str(node.buffer.dtype)).itemsize)
            elif name == "Call" and self.tir.op_name(node) == "tvm_access_ptr":
                sizes.append(parse(str(node.args[0].dtype)).itemsize)
        return min(sizes)


def _safe_division(node: Any) -> bool:
    return type(node).__name__ != "BufferLoad" and bool(constant(node.b))


def _named(func: Any) -> bool:
    return func.attrs is not None and "global_symbol" in func.attrs


def compile_function(func: Any, tir: Tir, on: Device = CUDA) -> Program:
    """The program of a lowered device function.

    Raises UnsupportedError for a statement, an op or a dtype that the interpreter does not know.
    """
    compiler = Compiler(func, tir, on)
    emit.compile_body(compiler, func.body)
    return compiler.program
