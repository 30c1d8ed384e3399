"""Read the reducers of a kernel: their statements, sites, and timelines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.marker import Marker
from reducer_compat.once import once
from reducer_rules.monoid import Op
from reducer_rules.timeline import (
    Alloc,
    Batch,
    Branch,
    Condition,
    Context,
    Escape,
    EscapeKind,
    Event,
    Fill,
    Finalize,
    Index,
    Init,
    InitForm,
    Kernel,
    Load,
    LoadForm,
    Loop,
    LoopKind,
    Span,
    Store,
    Timeline,
    Update,
    UpdateForm,
)


@dataclass
class Reducer:
    """One `T.alloc_reducer`: its buffer and everything the kernel does to it.

    `locations` maps an event's ident to its ``file:line``.
    """

    buffer: Any
    op: Op
    replication: str | None
    location: str
    events: list[Event] = field(default_factory=list)
    locations: dict[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.buffer.name)

    @property
    def dtype(self) -> str:
        return str(self.buffer.dtype)

    @cached_property
    def shape(self) -> tuple[int | None, ...]:
        return tuple(map(tree.constant, tree.items(self.buffer.shape)))

    @property
    def in_place(self) -> bool:
        """Whether some finalize writes the result into the reducer itself."""
        return any(isinstance(e, Finalize) and e.destination is None for e in self.events)

    @property
    def closes_in_branch(self) -> bool:
        """Whether some finalize is in a branch."""
        return any(
            isinstance(frame, Branch)
            for event in self.events
            if isinstance(event, Finalize)
            for frame in event.context
        )


@dataclass(frozen=True, slots=True)
class Collected:
    """The reducers of one kernel, in the order of their allocation.

    `thread` is the thread variable, and `threads` the number of participants: all the threads
    along threadIdx.x that the kernel's author asked for. Warp specialization adds producers later,
    elsewhere. `rows` are the variables of threadIdx.y and threadIdx.z, where they have an extent;
    `pipelined` says whether there is a `T.Pipelined` loop.
    """

    kernel: str
    reducers: tuple[Reducer, ...]
    thread: Any
    threads: int
    rows: tuple[Any, ...] = ()
    pipelined: bool = False

    def of(self, buffer: Any) -> Reducer | None:
        """The reducer that `buffer` is, or None."""
        return next((r for r in self.reducers if r.buffer.data.same_as(buffer.data)), None)

    def timelines(self, warp_specialized: bool | None) -> tuple[Timeline, ...]:
        """One timeline per reducer, for the rules."""
        kernel = Kernel(self.kernel, self.threads, warp_specialized)
        return tuple(Timeline(r.name, tuple(r.events), kernel) for r in self.reducers)


def collect(func: Any) -> Collected:
    """Read all reducers of `func`.

    Contributions have no text: TVM's printer is slow, and no rule of `check` asks for it.
    """
    reader = _Reader(str(func.attrs["global_symbol"]) if func.attrs else "")
    reader.visit(func.body, ())
    return Collected(
        reader.kernel,
        tuple(reader.reducers),
        reader.thread,
        reader.threads,
        tuple(reader.rows),
        reader.pipelined,
    )


class _Reader:
    """One walk over the kernel, in program order, that keeps the control flow around it."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.reducers: list[Reducer] = []
        self.thread: Any = None
        self.threads = 1
        self.rows: list[Any] = []
        self.pipelined = False
        self._idents = itertools.count()
        self._thread_vars: list[Any] = []
        self._line = ""

    def visit(self, stmt: Any, context: Context) -> None:
        tir = adapter().tir
        found = marker.read(stmt)
        if found is not None and found.kind == "line":
            self._line = found.text(0)
            return
        if found is not None:
            self._marker(found, context)
            return
        self._loads(stmt, context)
        self._line = ""
        kind = type(stmt)
        if kind is tir.For:
            self._loop(stmt, context)
        elif kind is tir.While:
            loop = Loop(next(self._idents), LoopKind.WHILE, Span(0))
            self.visit(stmt.body, (*context, loop))
        elif kind is tir.IfThenElse:
            self._branch(stmt, context)
        else:
            self._binding(stmt)
            for child in tree.children(stmt):
                self.visit(child, context)

    def _binding(self, stmt: Any) -> None:
        if type(stmt) is adapter().tir.AttrStmt:
            if tree.is_launch(stmt):
                self._thread_binding(str(stmt.node.thread_tag), stmt)
        elif type(stmt).__name__ in ("LetStmt", "Bind") and self._varies(stmt.value):
            self._thread_vars.append(stmt.var)

    def _thread_binding(self, tag: str, stmt: Any) -> None:
        if not tag.startswith("threadIdx"):
            return
        extent = tree.constant(stmt.value) or 1
        self._thread_vars.append(stmt.node.var)
        if tag == "threadIdx.x":
            self.thread, self.threads = stmt.node.var, extent
        elif extent > 1:
            self.rows.append(stmt.node.var)

    def _varies(self, expr: Any) -> bool:
        return any(
            any(var.same_as(known) for known in self._thread_vars) for var in tree.variables(expr)
        )

    def _loop(self, stmt: Any, context: Context) -> None:
        kind = loop_kind(stmt)
        self.pipelined = self.pipelined or kind is LoopKind.PIPELINED
        loops, body = parallel_nest(stmt) if kind is LoopKind.PARALLEL else ([stmt], stmt.body)
        if kind is LoopKind.PARALLEL:
            self._thread_vars.extend(loop.loop_var for loop in loops)
        stages = stmt.annotations.get("num_stages")
        frame = Loop(
            next(self._idents),
            kind,
            Span(0),
            tuple(str(loop.loop_var.name) for loop in loops),
            tuple(tree.constant(loop.extent) for loop in loops),
            None if stages is None else int(stages),
        )
        self.visit(body, (*context, frame))

    def _branch(self, stmt: Any, context: Context) -> None:
        ident, condition = next(self._idents), self._condition(stmt.condition)
        for arm, body in enumerate(tree.children(stmt)):
            branch = Branch(ident, arm, condition, Span(0), str(stmt.condition))
            self.visit(body, (*context, branch))

    def _condition(self, expr: Any) -> Condition:
        if self._varies(expr):
            return Condition.THREAD
        if any(str(load.buffer.scope()) == "local" for load in tree.loads(expr)):
            return Condition.UNKNOWN
        return Condition.UNIFORM

    def _marker(self, found: Marker, context: Context) -> None:
        if found.kind == "alloc":
            self._alloc(found, context)
            return
        reducer = self._of(found.target)
        if reducer is None:
            return
        handler = {
            "init": self._init,
            "update": self._update,
            "store": self._store,
            "finalize": self._finalize,
        }[found.kind]
        handler(reducer, found, context)

    def _of(self, buffer: Any) -> Reducer | None:
        return next((r for r in self.reducers if r.buffer.data.same_as(buffer.data)), None)

    def _add(self, reducer: Reducer, event: Event, where: str) -> None:
        reducer.events.append(event)
        reducer.locations[event.ident] = where

    def _at(self, where: str, context: Context) -> dict[str, Any]:
        line = where.rsplit(":", 1)[-1]
        span = Span(int(line) if line.isdigit() else 0)
        return {"ident": next(self._idents), "span": span, "context": context}

    def _alloc(self, found: Marker, context: Context) -> None:
        where = found.text(3)
        replication = found.text(2)
        reducer = Reducer(
            found.target,
            Op(found.text(1)),
            None if replication == marker.NONE else replication,
            where,
        )
        self.reducers.append(reducer)
        event = Alloc(
            **self._at(where, context),
            shape=reducer.shape,
            dtype=reducer.dtype,
            dtype_text=reducer.dtype,
            op=reducer.op,
            op_text=str(reducer.op),
            replication=reducer.replication,
        )
        self._add(reducer, event, where)

    def _init(self, reducer: Reducer, found: Marker, context: Context) -> None:
        where = found.text(2)
        seed = found.args[3] if len(found.args) > 3 else None
        if seed is not None:
            self._reads_in(seed, context, where)
        form = InitForm[found.text(1)]
        event = Init(**self._at(where, context), form=form, fill=_fill(seed, form))
        self._add(reducer, event, where)

    def _update(self, reducer: Reducer, found: Marker, context: Context) -> None:
        where, combine = found.text(3), found.text(2)
        event = Update(
            **self._at(where, context),
            form=UpdateForm[found.text(1)],
            combine=None if combine == marker.NONE else Op[combine],
            indices=tuple(_index(index) for index in found.args[5:]),
            contribution_dtype=str(found.args[4].dtype),
        )
        self._add(reducer, event, where)
        for operand in found.args[4:]:
            self._reads_in(operand, context, where, event.ident)

    def _store(self, reducer: Reducer, found: Marker, context: Context) -> None:
        where = found.text(2)
        event = Store(**self._at(where, context), what=found.text(1))
        self._add(reducer, event, where)
        self._reads_in(found.args[3], context, where, event.ident)

    def _finalize(self, reducer: Reducer, found: Marker, context: Context) -> None:
        where = found.text(2)
        dst = found.args[3].buffer if len(found.args) > 3 else None
        batch = tree.constant(found.args[1])
        event = Finalize(
            **self._at(where, context),
            destination=None if dst is None else str(dst.name),
            destination_dtype=None if dst is None else str(dst.dtype),
            destination_shape=(
                None if dst is None else tuple(tree.constant(extent) for extent in dst.shape)
            ),
            destination_is_reducer=dst is not None and self._of(dst) is not None,
            batch=None if batch in (None, 1) else Batch(str(batch), batch),
        )
        self._add(reducer, event, where)

    def _loads(self, stmt: Any, context: Context) -> None:
        tir = adapter().tir
        if not self.reducers:
            return
        if type(stmt) is tir.BufferStore:
            self._direct_store(stmt, context)
        for expr in tree.expressions(stmt):
            self._reads_in(expr, context, self._line, whole=_is_tile_op(expr))

    def _direct_store(self, stmt: Any, context: Context) -> None:
        reducer = self._of(stmt.buffer)
        if reducer is not None:
            store = Store(**self._at(self._line, context), what="a plain store")
            self._add(reducer, store, self._line)

    def _reads_in(
        self,
        expr: Any,
        context: Context,
        where: str,
        holder: int | None = None,
        whole: bool = False,
    ) -> None:
        inside = tree.nodes(expr)
        for load in tree.among(inside, "BufferLoad"):
            reducer = self._of(load.buffer)
            if reducer is not None:
                event = self._read_event(reducer, load, expr, context, where, holder, whole)
                self._add(reducer, event, where)
        self._addresses_in(inside, context, where)

    def _addresses_in(self, inside: Sequence[Any], context: Context, where: str) -> None:
        """Uses of a reducer's storage other than by a load, until it holds its result."""
        for var in tree.among(inside, "Var", "SizeVar"):
            reducer = next((r for r in self.reducers if r.buffer.data.same_as(var)), None)
            if reducer is not None and not reducer.in_place:
                at = self._at(where, context)
                self._add(reducer, Escape(**at, kind=EscapeKind.ADDRESS), where)

    def _read_event(
        self,
        reducer: Reducer,
        load: Any,
        expr: Any,
        context: Context,
        where: str,
        holder: int | None,
        whole: bool,
    ) -> Event:
        at = self._at(where, context)
        if whole and "tileop.copy" not in str(expr.op.name) and not reducer.in_place:
            return Escape(**at, kind=EscapeKind.OPERAND, detail=str(expr.op.name))
        form = LoadForm.WHOLE if whole else LoadForm.ELEMENT
        return Load(**at, form=form, indices=tuple(map(_index, load.indices)), holder=holder)


def _is_tile_op(expr: Any) -> bool:
    return "tileop" in tree.callee(expr)


def _index(expr: Any) -> Index:
    tir, value = adapter().tir, tree.constant(expr)
    variable = str(expr.name) if isinstance(expr, tir.Var) else None
    # TVM's printer is slow, and most indices are a loop variable or a number.
    text = variable or (str(expr) if value is None else str(value))
    return Index(text, value, variable)


def _fill(seed: Any, form: InitForm) -> Fill | None:
    if seed is None:
        return None
    if form is InitForm.CLEAR:  # TVM's printer is slow, and this is 0
        return Fill("0", 0, None, str(seed.dtype))
    tir = adapter().tir
    inner = seed
    while type(inner) is tir.Cast:
        inner = inner.value
    number = getattr(inner, "value", None) if type(inner) in (tir.IntImm, tir.FloatImm) else None
    return Fill(str(seed), number, None, str(seed.dtype))


def loop_kind(loop: Any) -> LoopKind:
    """The kind of a TIR loop, as the language surface named it."""
    kinds = adapter().tir.ForKind
    if "num_stages" in loop.annotations:
        return LoopKind.PIPELINED
    return {
        kinds.SERIAL: LoopKind.SERIAL,
        kinds.PARALLEL: LoopKind.PARALLEL,
        kinds.VECTORIZED: LoopKind.VECTORIZED,
        kinds.UNROLLED: LoopKind.UNROLL,
    }.get(loop.kind, LoopKind.UNKNOWN)


@once
def parallel_nest(loop: Any) -> tuple[list[Any], Any]:
    """The directly nested `T.Parallel` loops from `loop` inwards, and the body of the last."""
    tir = adapter().tir
    nest, body = [loop], loop.body
    while type(body) is tir.For and body.kind == tir.ForKind.PARALLEL:
        nest.append(body)
        body = body.body
    return nest, body
