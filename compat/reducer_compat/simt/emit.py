"""Statements that gates can interrupt, as instructions with jumps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .intrinsics.cp_async import commit
from .program import Action, Branch, Execute, Instruction, Jump, Return, Wait
from .report import UnsupportedError
from .stmt import (
    allocation,
    attribute,
    bind,
    compile_stmt,
    declare,
    first_line,
    loop_kind,
    loop_step,
)
from .wave import Wave

if TYPE_CHECKING:
    from .compile import Compiler

_BREAKS = ("tl.loop_break", "break_loop")
_CONTINUES = ("continue_loop",)


def compile_body(c: Compiler, body: Any) -> None:
    """Appends the instructions of a function body to the compiler's program."""
    emitter = _Emitter(c)
    emitter.emit(body)
    emitter.code.append(Return(early=False))
    c.program.code = emitter.code


def children(node: Any) -> list[Any]:
    """The statements directly inside a statement."""
    name = type(node).__name__
    if name == "SeqStmt":
        return list(node.seq)
    if name == "IfThenElse":
        return [s for s in (node.then_case, node.else_case) if s is not None]
    body = getattr(node, "body", None)
    return [body] if body is not None else []


class _Emitter:
    """Appends instructions; a jump forward gets its target when that place is reached."""

    def __init__(self, c: Compiler):
        self.c = c
        self.code: list[Instruction] = []
        self._loops: list[tuple[list[Jump], list[Jump]]] = []
        self._straight: dict[Any, bool] = {}

    def emit(self, node: Any) -> None:
        """Appends the instructions of a statement."""
        if self._is_straight(node):
            self.code.append(Execute(compile_stmt(self.c, node)))
            return
        getattr(self, f"_emit_{type(node).__name__.lower()}", self._emit_leaf)(node)

    def _is_straight(self, node: Any) -> bool:
        found = self._straight.get(node)
        if found is None:
            found = all(map(self._is_straight, children(node))) and not self._own(node)
            self._straight[node] = found
        return found

    def _own(self, node: Any) -> bool:
        exprs = [
            e for e in (getattr(node, k, None) for k in ("value", "condition")) if e is not None
        ]
        if type(node).__name__ == "AttrStmt":
            return False
        if type(node).__name__ == "Evaluate" and self._jump_name(node) is not None:
            return True
        return bool(self.c.gates(*exprs))

    def _jump_name(self, node: Any) -> str | None:
        if type(node.value).__name__ != "Call":
            return None
        name = self.c.tir.op_name(node.value)
        return name if name in (*_BREAKS, *_CONTINUES, "thread_return") else None

    def _emit_seqstmt(self, node: Any) -> None:
        for part in node.seq:
            self.emit(part)

    def _emit_leaf(self, node: Any) -> None:
        name = type(node).__name__
        if name == "Evaluate" and (jump := self._jump_name(node)) is not None:
            return self._emit_jump(jump, node)
        if name not in ("Evaluate", "BufferStore", "Bind", "LetStmt"):
            if getattr(node, "body", None) is None:
                raise UnsupportedError(f"a barrier inside {name}", first_line(node))
            return self._emit_scope(node)
        sid = self.c.statement(lambda: first_line(node))
        for gate in self.c.gates(node.value):
            self.code.append(Wait(sid, gate()))
        if name == "LetStmt":
            self.code.append(Execute(bind(self.c, node)))
            return self.emit(node.body)
        return self.code.append(Execute(compile_stmt(self.c, node)))

    def _emit_scope(self, node: Any) -> None:
        heads = {"AttrStmt": attribute, "Allocate": _allocate_only, "AllocBuffer": _alloc_only}
        head = heads.get(type(node).__name__)
        if head is not None:
            self.code.append(Execute(head(self.c, node)))
        elif type(node).__name__ == "DeclBuffer":
            declare(self.c, node)
        else:
            raise UnsupportedError(f"a barrier inside {type(node).__name__}", first_line(node))
        self.emit(node.body)
        if str(getattr(node, "attr_key", "")) == "async_commit_queue_scope":
            self.code.append(Execute(commit))

    def _emit_jump(self, name: str, node: Any) -> None:
        if name == "thread_return":
            self.code.append(Return(early=True))
            return
        if not self._loops:
            raise UnsupportedError(f"{name} outside a loop", first_line(node))
        jump = Jump()
        self._loops[-1][0 if name in _BREAKS else 1].append(jump)
        self.code.append(jump)

    def _emit_ifthenelse(self, node: Any) -> None:
        sid = self.c.statement(lambda: f"if {node.condition}:")
        for gate in self.c.gates(node.condition):
            self.code.append(Wait(sid, gate()))
        branch = Branch(sid, self.c.expr(node.condition))
        self.code.append(branch)
        self.emit(node.then_case)
        if node.else_case is None:
            branch.target = len(self.code)
            return
        end = Jump()
        self.code.append(end)
        branch.target = len(self.code)
        self.emit(node.else_case)
        end.target = len(self.code)

    def _emit_for(self, node: Any) -> None:
        loop_kind(node)
        sid = self.c.statement(
            lambda: f"for {node.loop_var} in range({node.min}, {node.min} + {node.extent}):"
        )
        low, extent = self.c.expr(node.min), self.c.expr(node.extent)
        slot, end, step = (
            self.c.slot_of(node.loop_var, fresh=True),
            self.c.new_slot(),
            loop_step(self.c, node),
        )

        def start(w: Wave) -> None:
            w.sid = sid
            first = low(w)
            w.env[slot], w.env[end] = first, first + extent(w)

        def advance(w: Wave) -> None:
            w.env[slot] = w.env[slot] + w.env[slot].dtype.type(step)

        self.code.append(Execute(start))
        test = Branch(sid, lambda w: w.env[slot] < w.env[end])
        self._loop(test, node.body, Execute(advance))

    def _emit_while(self, node: Any) -> None:
        sid = self.c.statement(lambda: f"while {node.condition}:")
        if self.c.gates(node.condition):
            raise UnsupportedError("a barrier in the condition of a while loop", first_line(node))
        self._loop(
            Branch(sid, self.c.expr(node.condition)), node.body, Execute(lambda w: w.m.spin(w))
        )

    def _loop(self, test: Branch, body: Any, advance: Execute) -> None:
        top = len(self.code)
        self.code.append(test)
        self._loops.append(([], []))
        self.emit(body)
        breaks, continues = self._loops.pop()
        for jump in continues:
            jump.target = len(self.code)
        self.code += [advance, Jump(top)]
        test.target = len(self.code)
        for jump in breaks:
            jump.target = len(self.code)


def _allocate_only(c: Compiler, node: Any) -> Action:
    return allocation(c, node.buffer_var, node.dtype, node.extents, node)


def _alloc_only(c: Compiler, node: Any) -> Action:
    b = node.buffer
    return allocation(c, b.data, b.dtype, b.shape, node)
