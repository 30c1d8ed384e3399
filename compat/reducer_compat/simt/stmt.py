"""TIR statements without gates as closures.

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
from .intrinsics.cp_async import commit, land
from .memory import Pointer
from .program import Action, Value
from .report import UnsupportedError
from .wave import Wave

if TYPE_CHECKING:
    from .compile import Compiler

_FOREIGN_ATTRS = (
    "virtual_thread",
    "coproc_scope",
    "coproc_uop_scope",
    "pragma_import_c",
    "pragma_import_llvm",
)


def compile_stmt(c: Compiler, node: Any) -> Action:
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
    parts = [compile_stmt(c, s) for s in node.seq]

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


def bind(c: Compiler, node: Any) -> Action:
    """A let, without its body."""
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
    return _then(bind(c, node), compile_stmt(c, node.body))


def _declare(c: Compiler, node: Any) -> Action:
    declare(c, node)
    return compile_stmt(c, node.body) if getattr(node, "body", None) is not None else _nothing


def declare(c: Compiler, node: Any) -> None:
    """The declaration of a buffer, without its body."""
    # A barrier buffer is declared without storage up to 0.1.8: the declaration makes it.
    buffer = node.buffer
    if buffer.scope() == "shared.barrier":
        c.program.initial_env[c.slot_of(buffer.data, fresh=True)] = Pointer(None, 0)  # type: ignore[arg-type]


def _allocate(c: Compiler, node: Any) -> Action:
    action = allocation(c, node.buffer_var, node.dtype, node.extents, node)
    return _then(action, compile_stmt(c, node.body))


def _alloc_buffer(c: Compiler, node: Any) -> Action:
    b = node.buffer
    action = allocation(c, b.data, b.dtype, b.shape, node)
    body = getattr(node, "body", None)
    return action if body is None else _then(action, compile_stmt(c, body))


def allocation(c: Compiler, var: Any, dtype: Any, extents: Any, node: Any) -> Action:
    """An allocation, without its body."""
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
    action = attribute(c, node)
    body = getattr(node, "body", None)
    if body is None:
        return action
    if str(node.attr_key) == "async_commit_queue_scope":
        return _then(compile_stmt(c, body), commit)
    return _then(action, compile_stmt(c, body))


def attribute(c: Compiler, node: Any) -> Action:
    """An attribute, without its body."""
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
    return run if body is None else _then(run, compile_stmt(c, body))


# -- straight control flow ----------------------------------------------------------------------


def _if(c: Compiler, node: Any) -> Action:
    sid = c.statement(lambda: f"if {node.condition}:")
    test = c.expr(node.condition)
    then = compile_stmt(c, node.then_case)
    other = compile_stmt(c, node.else_case) if node.else_case is not None else None

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
    step = loop_step(c, node)
    body = compile_stmt(c, node.body)

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


def loop_step(c: Compiler, node: Any) -> int:
    """The step of a loop."""
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
    test, body = c.expr(node.condition), compile_stmt(c, node.body)

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
    "Bind": bind,
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
