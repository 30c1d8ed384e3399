"""TIR statements as closures, and as instructions where they hold gates, returns or breaks.

Up to TileLang 0.1.8 lets, allocations and attributes hold their scope as a body; later they are
statements of their own. Both forms are met here by the same code: what has a body compiles it
after itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import access
from .dtypes import cast, parse
from .expr import buffer_access, constant
from .intrinsics import assertions
from .intrinsics.asynchronous import commit, land
from .memory import Pointer
from .program import Action, Branch, Execute, Instruction, Jump, Return, Value, Wait, split
from .report import UnsupportedError
from .wave import Wave

if TYPE_CHECKING:
    from .compile import Compiler

_BREAKS = ("tl.loop_break", "break_loop")
_CONTINUES = ("continue_loop",)
_FOREIGN_ATTRS = (
    "virtual_thread",
    "coproc_scope",
    "coproc_uop_scope",
    "pragma_import_c",
    "pragma_import_llvm",
)


def compile_body(c: Compiler, body: Any) -> None:
    """Appends the instructions of a function body to the compiler's program."""
    emitter = _Emitter(c)
    emitter.emit(body)
    emitter.code.append(Return(early=False))
    c.program.code = emitter.finish()


def children(node: Any) -> list[Any]:
    """The statements directly inside a statement."""
    name = type(node).__name__
    if name == "SeqStmt":
        return list(node.seq)
    if name == "IfThenElse":
        return [s for s in (node.then_case, node.else_case) if s is not None]
    body = getattr(node, "body", None)
    return [body] if body is not None else []


def _action(c: Compiler, node: Any) -> Action:
    """A statement without gates as a closure."""
    build = _ACTIONS.get(type(node).__name__)
    if build is None:
        raise UnsupportedError(f"the statement {type(node).__name__}", first_line(node))
    return build(c, node)


def first_line(node: Any) -> str:
    """The first line of a statement's script."""
    lines = [s.strip() for s in str(node).splitlines()]
    return next(
        (s for s in lines if s and not s.startswith("#") and not _declares(s)),
        lines[-1] if lines else "",
    )


def _declares(line: str) -> bool:
    left = line.split("=")[0].strip()
    right = line[len(left) :].lstrip(" =")
    prefixes = (
        "T.Buffer(",
        "T.handle(",
        "T.int32()",
        "T.decl_buffer(",
        "T.int64()",
        "T.launch_thread(",
    )
    return right.startswith(prefixes) or right.startswith("T.env_thread(")


def _then(first: Action, rest: Action) -> Action:
    def run(w: Wave) -> None:
        first(w)
        rest(w)

    return run


def _nothing(w: Wave) -> None:
    return


# -- straight statements ----------------------------------------------------------------------


def _seq(c: Compiler, node: Any) -> Action:
    parts = [_action(c, s) for s in node.seq]

    def run(w: Wave) -> None:
        for part in parts:
            part(w)

    return run


def _store(c: Compiler, node: Any) -> Action:
    if getattr(node, "predicate", None) is not None:
        raise UnsupportedError("a store with a predicate", first_line(node))
    sid = c.statement(lambda: first_line(node))
    slot, index, dtype, limit = buffer_access(c, node.buffer, node.indices)
    value = c.expr(node.value)

    def run(w: Wave) -> None:
        w.sid = sid
        values = value(w)
        access.store(w, w.env[slot], index(w), dtype, limit(w), values)

    return run


def _evaluate(c: Compiler, node: Any) -> Action:
    sid = c.statement(lambda: first_line(node))
    value = c.expr(node.value)

    def run(w: Wave) -> None:
        w.sid = sid
        value(w)

    return run


def _bind(c: Compiler, node: Any) -> Action:
    sid = c.statement(lambda: f"{node.var} = {node.value}")
    value = c.expr(node.value)
    slot = c.slot_of(node.var, fresh=True)
    _bind_pointer(c, node)

    def run(w: Wave) -> None:
        w.sid = sid
        w.env[slot] = value(w)

    return run


def _bind_pointer(c: Compiler, node: Any) -> None:
    if str(node.var.dtype) == "handle":
        c.bind_size(node.var, None)


def _let(c: Compiler, node: Any) -> Action:
    return _then(_bind(c, node), _action(c, node.body))


def _declare(c: Compiler, node: Any) -> Action:
    _declare_data(c, node)
    return _action(c, node.body) if getattr(node, "body", None) is not None else _nothing


def _declare_data(c: Compiler, node: Any) -> None:
    # A barrier buffer is declared without storage up to 0.1.8: the declaration makes it.
    buffer = node.buffer
    if buffer.scope() == "shared.barrier":
        c.program.initial_env[c.slot_of(buffer.data, fresh=True)] = Pointer(None, 0)  # type: ignore[arg-type]


def _allocate(c: Compiler, node: Any) -> Action:
    action = _allocation(c, node.buffer_var, node.dtype, node.extents, node)
    return _then(action, _action(c, node.body))


def _alloc_buffer(c: Compiler, node: Any) -> Action:
    b = node.buffer
    action = _allocation(c, b.data, b.dtype, b.shape, node)
    body = getattr(node, "body", None)
    return action if body is None else _then(action, _action(c, body))


def _allocation(c: Compiler, var: Any, dtype: Any, extents: Any, node: Any) -> Action:
    element, scope = parse(str(dtype)), str(var.type_annotation.storage_scope)
    sizes = [c.expr(e) for e in extents]
    slot, name = c.slot_of(var, fresh=True), str(var.name)
    unit = element.itemsize * element.lanes
    _bind_allocation(c, var, scope, extents, unit)
    init = _initial(c, node, scope, element.numpy)
    sid = c.statement(
        lambda: f"{name} = alloc_buffer({', '.join(map(str, extents))}, {dtype}, {scope})"
    )

    def run(w: Wave) -> None:
        w.sid = sid
        nbytes = math.prod(_uniform(s(w)) for s in sizes) * unit
        storage = w.m.allocate(slot, name, scope, nbytes)
        w.env[slot] = Pointer(storage, 0, element.numpy)
        if storage.scope == "local":
            storage.forget(w.lanes)
            if init is not None:
                access.store(w, w.env[slot], np.int32(0), element.numpy, 1, init(w))

    return run


def _bind_allocation(c: Compiler, var: Any, scope: str, extents: Any, unit: int) -> None:
    # Up to 0.1.8 merged shared buffers are declared over the arena with offsets in their indices.
    known = [k for k in map(constant, extents) if k is not None]
    if len(known) != len(extents):
        return
    nbytes = math.prod(known) * unit
    if scope != "shared.dyn":
        c.bind_size(var, nbytes)
    if scope.startswith("shared"):
        c.program.block_bytes += nbytes
    else:
        c.program.thread_bytes += nbytes


def _initial(c: Compiler, node: Any, scope: str, dtype: np.dtype[Any]) -> Value | None:
    if scope != "local.var":
        return None
    annotations = getattr(node, "annotations", None) or {}
    given = annotations.get("tl.local_var_init") if hasattr(annotations, "get") else None
    if given is None:
        zero = dtype.type(0)
        return lambda w: zero
    value = c.expr(given)
    return lambda w: cast(value(w), dtype)


def _uniform(value: Any) -> int:
    if np.ndim(value) and (value != value.flat[0]).any():
        raise UnsupportedError("an allocation whose size differs from thread to thread")
    return int(value if np.ndim(value) == 0 else value.flat[0])


def _attr(c: Compiler, node: Any) -> Action:
    action = _attr_action(c, node)
    body = getattr(node, "body", None)
    if body is None:
        return action
    if str(node.attr_key) == "async_commit_queue_scope":
        return _then(_action(c, body), commit)
    return _then(action, _action(c, body))


def _attr_action(c: Compiler, node: Any) -> Action:
    key = str(node.attr_key)
    if key == "async_wait_queue_scope":
        behind = constant(node.body.value)
        if behind is None:
            raise UnsupportedError("a wait for a computed number of copy groups", first_line(node))
        return lambda w: land(w, behind)
    if key in ("async_wait_inflight_count", "async_commit_queue_scope"):
        return _nothing
    if key == "thread_extent":
        tag, slot = str(node.node.thread_tag), c.slot_of(node.node.var, fresh=True)
        if not tag.startswith(("blockIdx.", "threadIdx.")):
            raise UnsupportedError(f"the thread axis {tag}")

        def run(w: Wave) -> None:
            w.env[slot] = w.m.index_of(tag, w)

        return run
    if key in _FOREIGN_ATTRS:
        raise UnsupportedError(f"the attribute {key}", first_line(node))
    # Code generation emits nothing for any other attribute.
    return _nothing


def _assert(c: Compiler, node: Any) -> Action:
    sid = c.statement(lambda: f"assert {node.condition}")
    condition = c.expr(node.condition)
    parts = getattr(node, "message_parts", None)
    message = " ".join(str(p.value) for p in parts) if parts is not None else str(node.message)

    def run(w: Wave) -> None:
        w.sid = sid
        assertions.check(w, condition(w), message)

    body = getattr(node, "body", None)
    return run if body is None else _then(run, _action(c, body))


# -- straight control flow ----------------------------------------------------------------------


def _if(c: Compiler, node: Any) -> Action:
    sid = c.statement(lambda: f"if {node.condition}:")
    test = c.expr(node.condition)
    then = _action(c, node.then_case)
    other = _action(c, node.else_case) if node.else_case is not None else None

    def run(w: Wave) -> None:
        w.sid = sid
        condition = test(w)
        if np.ndim(condition) == 0 or condition.all() or not condition.any():
            arm = then if np.all(condition) else other
            if arm is not None:
                arm(w)
            return
        then(w.sub(condition))
        if other is not None:
            other(w.sub(~condition))

    return run


def _for(c: Compiler, node: Any) -> Action:
    kind = loop_kind(node)
    sid = c.statement(
        lambda: f"for {node.loop_var} in range({node.min}, {node.min} + {node.extent}):  # {kind}"
    )
    low, extent = c.expr(node.min), c.expr(node.extent)
    slot = c.slot_of(node.loop_var, fresh=True)
    step = _step(c, node)
    body = _action(c, node.body)

    def run(w: Wave) -> None:
        w.sid = sid
        first, count = low(w), extent(w)
        if np.ndim(first) == 0 and np.ndim(count) == 0:
            kind = type(first)
            for i in range(0, int(count), step):
                w.env[slot] = kind(int(first) + i)
                body(w)
            return
        _ragged(w, first, count, step, slot, body)

    return run


def _ragged(w: Wave, first: Any, count: Any, step: int, slot: int, body: Action) -> None:
    count = np.broadcast_to(count, (w.n,))
    first = np.broadcast_to(first, (w.n,))
    for i in range(0, max(int(count.max()), 0), step):
        mask = count > i
        inner = w if mask.all() else w.sub(mask)
        inner.env[slot] = first[mask] + first.dtype.type(i)
        body(inner)


def _step(c: Compiler, node: Any) -> int:
    given = getattr(node, "step", None)
    if given is None:
        return 1
    step = constant(given)
    if step is None or step < 1:
        raise UnsupportedError(f"a loop with step {given}", first_line(node))
    return step


def loop_kind(node: Any) -> str:
    """The name of a loop's kind; UnsupportedError for one that lowering leaves nowhere."""
    kind = int(node.kind)
    names = {0: "serial", 1: "parallel", 3: "unrolled"}
    if kind not in names:
        raise UnsupportedError(
            "a vectorized or thread-bound loop that was not lowered", first_line(node)
        )
    return names[kind]


def _while(c: Compiler, node: Any) -> Action:
    sid = c.statement(lambda: f"while {node.condition}:")
    test, body = c.expr(node.condition), _action(c, node.body)

    def run(w: Wave) -> None:
        while True:
            w.sid = sid
            condition = test(w)
            if not np.any(condition):
                return
            if not np.all(condition):
                w = w.sub(condition)
            body(w)
            w.m.spin(w)

    return run


_ACTIONS: dict[str, Callable[[Any, Any], Action]] = {
    "SeqStmt": _seq,
    "BufferStore": _store,
    "Evaluate": _evaluate,
    "Bind": _bind,
    "LetStmt": _let,
    "DeclBuffer": _declare,
    "Allocate": _allocate,
    "AllocBuffer": _alloc_buffer,
    "AttrStmt": _attr,
    "AssertStmt": _assert,
    "IfThenElse": _if,
    "For": _for,
    "While": _while,
}


# -- control flow that gates can interrupt --------------------------------------------------------


class _Emitter:
    """Appends instructions; jumps hold labels until `finish` turns them into places."""

    def __init__(self, c: Compiler):
        self.c = c
        self.code: list[Instruction] = []
        self._loops: list[tuple[list[Jump], list[Jump]]] = []
        self._straight: dict[Any, bool] = {}

    def finish(self) -> list[Instruction]:
        """The instructions."""
        return self.code

    def emit(self, node: Any) -> None:
        """Appends the instructions of a statement."""
        if self._is_straight(node):
            self.code.append(Execute(_action(self.c, node)))
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
            self.code.append(Execute(_bind(self.c, node)))
            return self.emit(node.body)
        return self.code.append(Execute(_action(self.c, node)))

    def _emit_scope(self, node: Any) -> None:
        heads = {"AttrStmt": _attr_action, "Allocate": _allocate_only, "AllocBuffer": _alloc_only}
        head = heads.get(type(node).__name__)
        if head is not None:
            self.code.append(Execute(head(self.c, node)))
        elif type(node).__name__ == "DeclBuffer":
            _declare_data(self.c, node)
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
            _step(self.c, node),
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
    return _allocation(c, node.buffer_var, node.dtype, node.extents, node)


def _alloc_only(c: Compiler, node: Any) -> Action:
    b = node.buffer
    return _allocation(c, b.data, b.dtype, b.shape, node)


__all__ = ["compile_body", "first_line", "loop_kind", "split"]
