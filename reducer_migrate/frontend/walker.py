"""Walk one function in program order and record what happens to each of its reducers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypedDict

from reducer_migrate.frontend import updates, values
from reducer_migrate.frontend.buffers import (
    Buffer,
    declared_buffers,
    expression_dtype,
    shape_of,
)
from reducer_migrate.frontend.conditions import Conditions, join
from reducer_migrate.frontend.free import (
    Comprehension,
    ComprehensionNode,
    always_matches,
    comprehension_parts,
    free_names,
    outer_parts,
    pattern_values,
)
from reducer_migrate.frontend.launch import threads_of, warp_specialized
from reducer_migrate.frontend.operands import copies_to_shared, has_collective, operands_of
from reducer_migrate.frontend.rows import reduced_rows, row_values, updated_rows
from reducer_migrate.frontend.scopes import Scope, allocates
from reducer_migrate.frontend.syntax import (
    ScopeNode,
    argument,
    bound_names,
    called,
    index_parts,
    names_in,
    same,
    span_of,
)
from reducer_migrate.frontend.tiles import tile_axes
from reducer_migrate.source import Source
from reducer_rules.monoid import V1_OPS, Op
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
    Operands,
    RowValues,
    Span,
    Store,
    Timeline,
    Update,
    UpdateForm,
    exclusive,
)

_LOOPS = {
    "Parallel": LoopKind.PARALLEL,
    "serial": LoopKind.SERIAL,
    "Serial": LoopKind.SERIAL,
    "grid": LoopKind.SERIAL,
    "range": LoopKind.SERIAL,
    "unroll": LoopKind.UNROLL,
    "Unroll": LoopKind.UNROLL,
    "Pipelined": LoopKind.PIPELINED,
    "Persistent": LoopKind.PERSISTENT,
    "vectorized": LoopKind.VECTORIZED,
    "Vectorized": LoopKind.VECTORIZED,
}
_TRACED_ITERATORS = frozenset({"enumerate", "zip", "reversed", "sorted", "list", "tuple", "items"})
#: Operations of the language that write an argument, and which one.
_WRITERS = {"copy": 1, "reduce": 1, "cumsum": 1, "gemm": 2, "atomic_add": 0, "atomic_max": 0}
#: Operations that take the address of an element.
_ADDRESS = frozenset({"address_of", "access_ptr", "tvm_access_ptr"})
_METADATA = frozenset({"shape", "dtype", "name", "scope", "ndim"})
#: The operations on a reducer, and the names of their parameters.
_OPERATIONS = {
    "clear": frozenset({"buffer"}),
    "fill": frozenset({"buffer", "value"}),
    "reducer_init": frozenset({"reducer", "init"}),
    "reducer_update": frozenset({"target", "reducer", "indices", "index", "value"}),
    "finalize_reducer": frozenset({"reducer", "dst", "batch", "annotations"}),
}


class _Place(TypedDict):
    """What every event has."""

    ident: int
    span: Span
    context: Context


class Site(NamedTuple):
    """Where an event stands: its statement, its own node, and the leaf of a combine store."""

    statement: ast.stmt
    node: ast.expr | ast.stmt
    leaf: updates.Leaf | None = None


class Reducer(NamedTuple):
    """A timeline with the syntax behind each of its events."""

    timeline: Timeline
    sites: dict[int, Site]
    scope: Scope


@dataclass
class _Tracker:
    """A reducer while its function is being walked."""

    name: str
    base: ast.expr | None
    kernel: Kernel
    events: list[Event] = field(default_factory=list)
    sites: dict[int, Site] = field(default_factory=dict)
    rows: list[RowValues | None] = field(default_factory=list)
    closed: bool = False

    @property
    def op(self) -> Op | None:
        ops = {event.op for event in self.events if isinstance(event, Alloc)}
        return ops.pop() if len(ops) == 1 else None

    @property
    def allocs(self) -> list[Alloc]:
        return [event for event in self.events if isinstance(event, Alloc)]


def walk(scope: Scope, source: Source) -> tuple[Reducer, ...]:
    """The reducers that one function (or a fragment without one) allocates, in order."""
    return _Walker(scope, source).run()


class _Walker:
    def __init__(self, scope: Scope, source: Source) -> None:
        self._scope = scope
        self._source = source
        self._buffers: dict[str, Buffer] = declared_buffers(scope)
        self._conditions = Conditions(scope, self._buffers)
        self._current: dict[str, _Tracker] = {}
        self._done: list[_Tracker] = []
        self._frames: dict[str, int] = {}
        self._nested: list[ast.AST] = []
        self._count = 0
        name = "" if isinstance(scope.node, ast.Module) else scope.node.name
        self._kernel = Kernel(name, warp_specialized=warp_specialized(scope))
        self._nest: ast.For | None = None
        self._staged: Loop | None = None
        named = ".reduce_" in source.text
        self._rows = reduced_rows(scope, self._buffers) if named else {}

    def run(self) -> tuple[Reducer, ...]:
        self._block(self._scope.node.body, ())
        for node in self._nested:
            self._captures(node)
        return tuple(
            Reducer(
                Timeline(tracker.name, tuple(tracker.events), tracker.kernel),
                tracker.sites,
                self._scope,
            )
            for tracker in self._done
        )

    # Statements

    def _block(self, statements: Sequence[ast.stmt], context: Context) -> None:
        for statement in statements:
            self._statement(statement, context)

    def _statement(self, node: ast.stmt, context: Context) -> None:
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if handler is not None:
            handler(node, context)
        elif isinstance(node, ScopeNode):
            self._nested.append(node)
            for part in outer_parts(node):
                self._scan(part, node, context, bare=EscapeKind.ALIAS)
            self._rebind(node.name, node, context)
        else:
            self._scan_children(node, node, context)

    def _on_import(self, node: ast.Import | ast.ImportFrom, context: Context) -> None:
        for alias in node.names:
            self._rebind((alias.asname or alias.name).split(".")[0], node, context)

    _on_importfrom = _on_import

    def _on_if(self, node: ast.If, context: Context) -> None:
        self._scan(node.test, node, context)
        condition = self._conditions.of(node.test)
        alike = ast.unparse(node.test)
        ident = self._frame(f"if {alike}" if condition is Condition.COMPILE_TIME else None)
        written = self._text(node.test)
        text = written if written.isprintable() else alike
        for arm, body in enumerate((node.body, node.orelse)):
            frame = Branch(ident, arm, condition, span_of(node), text)
            self._block(body, (*context, frame))

    def _on_match(self, node: ast.Match, context: Context) -> None:
        """A `match` is the chain of `if` and `else` that it stands for."""
        self._scan(node.subject, node, context)
        subject = self._conditions.of(node.subject)
        text = f"match {ast.unparse(node.subject)}"
        for case in node.cases:
            condition = join(subject, self._conditions.of(case.guard))
            for value in pattern_values(case.pattern):
                self._scan(value, node, context)
            for name in bound_names(case.pattern):
                self._rebind(name, node, context)
                self._conditions.bind(name, subject)
            if case.guard is not None:
                self._scan(case.guard, node, context)
            if always_matches(case):
                self._block(case.body, context)
                continue
            alike = f"{text}: {_case_text(case)}"
            ident = self._frame(alike if condition is Condition.COMPILE_TIME else None)
            taken = Branch(ident, 0, condition, span_of(node), alike)
            self._block(case.body, (*context, taken))
            context = (*context, taken._replace(arm=1))

    def _on_for(self, node: ast.For, context: Context) -> None:
        self._scan(node.iter, node, context)
        loop = self._loop(node)
        inside = {
            LoopKind.PARALLEL: Condition.THREAD,
            LoopKind.VECTORIZED: Condition.THREAD,
            LoopKind.TRACE: Condition.COMPILE_TIME,
            LoopKind.UNKNOWN: Condition.UNKNOWN,
        }.get(loop.kind, Condition.UNIFORM)
        self._stores_in(node.target, node, context, "a loop")
        for name in bound_names(node.target):
            self._rebind(name, node, context)
            self._conditions.bind(name, inside)
        outermost = loop.kind is LoopKind.PARALLEL and self._nest is None
        if outermost:
            self._nest = node
        self._block(node.body, (*context, loop))
        if outermost:
            self._nest = None
        if loop.staged and loop.stages != 0 and self._staged is None:
            self._staged = loop
        self._block(node.orelse, context)

    _on_asyncfor = _on_for

    def _on_while(self, node: ast.While, context: Context) -> None:
        self._scan(node.test, node, context)
        loop = Loop(self._frame(None), LoopKind.WHILE, span_of(node))
        self._block(node.body, (*context, loop))
        self._block(node.orelse, context)

    def _on_with(self, node: ast.With, context: Context) -> None:
        for item in node.items:
            self._scan(item.context_expr, node, context)
            call = item.context_expr
            if called(call) == "Kernel" and isinstance(call, ast.Call):
                self._kernel = self._kernel._replace(threads=threads_of(call, self._scope))
                self._staged = None
            if called(call) == "ws":
                ident = self._frame(None)
                frame = Branch(ident, 0, Condition.THREAD, span_of(node), ast.unparse(call))
                context = (*context, frame)
            if item.optional_vars is not None:
                self._stores_in(item.optional_vars, node, context, "a `with`")
                for name in bound_names(item.optional_vars):
                    self._rebind(name, node, context)
                    self._conditions.bind(name, Condition.UNIFORM)
        self._block(node.body, context)

    _on_asyncwith = _on_with

    def _on_try(self, node: ast.Try, context: Context) -> None:
        self._block(node.body, context)
        for handler in node.handlers:
            if handler.type is not None:
                self._scan(handler.type, node, context)
            if handler.name is not None:
                self._rebind(handler.name, node, context)
            self._block(handler.body, context)
        self._block(node.orelse, context)
        self._block(node.finalbody, context)

    _on_trystar = _on_try

    def _on_return(self, node: ast.Return, context: Context) -> None:
        if node.value is not None:
            self._scan(node.value, node, context, bare=EscapeKind.RETURN)

    def _on_delete(self, node: ast.Delete, context: Context) -> None:
        for target in node.targets:
            for name in names_in(target):
                self._escape(name, EscapeKind.DELETE, node, target, context)

    def _on_annassign(self, node: ast.AnnAssign, context: Context) -> None:
        if node.value is not None:
            self._assign([node.target], node.value, node, context)

    def _on_assign(self, node: ast.Assign, context: Context) -> None:
        self._assign(node.targets, node.value, node, context)

    def _assign(
        self, targets: list[ast.expr], value: ast.expr, node: ast.stmt, context: Context
    ) -> None:
        target = targets[0]
        if allocates(value, self._scope) and isinstance(value, ast.Call):
            if len(targets) == 1 and isinstance(target, ast.Name):
                self._alloc(target.id, value, node, context)
            else:
                self._unnamed(value, node, context, ast.unparse(target))
            return
        if len(targets) == 1 and isinstance(target, ast.Subscript):
            tracker = self._tracked(target.value)
            if tracker is not None:
                self._store(tracker, target, value, node, context)
                return
        tracker = self._tracked(value)
        if tracker is not None and tracker.closed and all(map(self._only_read, targets)):
            self._add_load(tracker, value, node, context, None)
        else:
            self._scan(value, node, context, bare=EscapeKind.ALIAS)
        for target in targets:
            self._bind_target(target, value, node, context)

    def _only_read(self, target: ast.expr) -> bool:
        """Whether a target is a name that is bound here alone and opens or closes no epoch.

        Bound to a finalized reducer it stands for the result, as an ordinary fragment does.
        """
        if not isinstance(target, ast.Name) or target.id in self._scope.shared:
            return False
        return self._scope.bindings[target.id] == 1 and not any(
            called(node) in _OPERATIONS and target.id in names_in(node)
            for node in self._scope.nodes
        )

    def _bind_target(
        self, target: ast.expr, value: ast.expr, node: ast.stmt, context: Context
    ) -> None:
        self._stores_in(target, node, context, "an unpacking assignment")
        condition = join(
            self._conditions.of(value),
            *(frame.condition for frame in context if isinstance(frame, Branch)),
        )
        for name in bound_names(target):
            self._rebind(name, node, context)
            self._conditions.bind(name, condition, again=bool(context))

    def _stores_in(self, target: ast.expr, node: ast.stmt, context: Context, what: str) -> None:
        """Stores to elements of reducers that a target other than a plain element holds."""
        for child in ast.walk(target):
            if isinstance(child, ast.Subscript):
                tracker = self._tracked(child.value)
                if tracker is not None:
                    self._add_store(tracker, child, node, context, what)

    def _on_augassign(self, node: ast.AugAssign, context: Context) -> None:
        target = node.target
        tracker = self._tracked(target.value) if isinstance(target, ast.Subscript) else None
        if tracker is None or not isinstance(target, ast.Subscript):
            self._scan(node.value, node, context)
            self._scan_children(target, node, context)
            for name in bound_names(target):
                self._rebind(name, node, context)
                self._conditions.bind(name, self._conditions.of(node.value), again=True)
            return
        combine = updates.combine_of(node.op)
        if combine is None or not self._combines(tracker, combine) or _slices(target):
            written = f"`{ast.unparse(target)} {_symbol(node.op)}= ...`"
            ident = self._add_store(tracker, target, node, context, written)
        else:
            subtract = isinstance(node.op, ast.Sub)
            form = UpdateForm.SUBTRACT if subtract else UpdateForm.AUGMENTED
            ident = self._add_update(
                tracker, target, node.value, node, node, context, form, combine
            )
        self._scan(target.slice, node, context)
        self._scan(node.value, node, context, holder=ident)

    def _store(
        self,
        tracker: _Tracker,
        target: ast.Subscript,
        value: ast.expr,
        node: ast.stmt,
        context: Context,
    ) -> None:
        leaf = updates.find_leaf(value, target)
        self._scan(target.slice, node, context)
        if leaf is None or not self._combines(tracker, leaf.op) or _slices(target):
            written = f"`{ast.unparse(target)} = ...`"
            ident = self._add_store(tracker, target, node, context, written)
            self._scan(value, node, context, holder=ident)
            return
        form = UpdateForm.SUBTRACT if leaf.negated else UpdateForm.COMBINE
        ident = self._add_update(
            tracker, target, value, node, node, context, form, leaf.op, leaf=leaf
        )
        own = updates.leaf_node(value, leaf)
        self._scan(value, node, context, holder=ident, skip=own)

    def _combines(self, tracker: _Tracker, combine: Op) -> bool:
        """Whether a combine-shaped store counts as an update rather than as an ordinary store.

        While the epoch is open a sum, max or min that is not the declared one is an update
        of the wrong kind. After finalize it is an ordinary store into the result.
        """
        op = tracker.op
        if combine is op:
            return True
        return combine in V1_OPS and not (tracker.closed and op is not None)

    def _on_expr(self, node: ast.Expr, context: Context) -> None:
        call = node.value
        if isinstance(call, ast.Call):
            handler = {
                "clear": self._clear,
                "fill": self._fill,
                "reducer_init": self._reducer_init,
                "reducer_update": self._reducer_update,
                "finalize_reducer": self._finalize,
            }.get(called(call) or "")
            if handler is not None and (
                self._not_spelled_out(call, node, context) or handler(call, node, context)
            ):
                return
        self._scan(call, node, context)

    def _not_spelled_out(self, call: ast.Call, node: ast.Expr, context: Context) -> bool:
        """An operation whose arguments cannot be told apart, or that has one v2 has no place for.

        Every reducer among the arguments escapes into it.
        """
        known = _OPERATIONS[called(call) or ""]
        unpacked = any(isinstance(value, ast.Starred) for value in call.args)
        strange = [key.arg for key in call.keywords if key.arg is not None and key.arg not in known]
        if any(key.arg is None for key in call.keywords) or unpacked:
            kind, detail = EscapeKind.UNPACKED, ast.unparse(call.func)
        elif strange:
            kind, detail = EscapeKind.PARAMETER, f"{strange[0]}="
        else:
            return False
        whole = [
            name
            for value in (*call.args, *(key.value for key in call.keywords))
            for name in _whole_names(value)
            if self._tracked(name) is not None
        ]
        for name in whole:
            self._escape_node(name, kind, node, context, detail)
        return bool(whole)

    # Operations on reducers. Each says whether it was one.

    def _clear(self, call: ast.Call, node: ast.Expr, context: Context) -> bool:
        target = argument(call, 0, "buffer")
        tracker = self._tracked(target)
        if tracker is None:
            return self._partial_fill(target, node, context)
        event = Init(**self._at(call, context), form=InitForm.CLEAR, behind=self._staged)
        self._open(tracker, event, node, call)
        return True

    def _fill(self, call: ast.Call, node: ast.Expr, context: Context) -> bool:
        target, value = argument(call, 0, "buffer"), argument(call, 1, "value")
        tracker = self._tracked(target)
        if tracker is None or value is None:
            return self._partial_fill(target, node, context)
        fill = self._describe_fill(value)
        place = self._at(call, context)
        event = Init(**place, form=InitForm.FILL, fill=fill, behind=self._staged)
        self._open(tracker, event, node, call)
        self._scan(value, node, context, holder=event.ident)
        return True

    def _partial_fill(self, target: ast.expr | None, node: ast.Expr, context: Context) -> bool:
        if not isinstance(target, ast.Subscript):
            return False
        tracker = self._tracked(target.value)
        if tracker is None:
            return False
        self._add_store(tracker, target, node, context, "a fill of a part")
        return True

    def _reducer_init(self, call: ast.Call, node: ast.Expr, context: Context) -> bool:
        tracker = self._tracked(argument(call, 0, "reducer"))
        if tracker is None:
            return False
        seed = argument(call, 1, "init")
        event = Init(
            **self._at(call, context),
            form=InitForm.REDUCER_INIT,
            fill=None if seed is None else self._describe_fill(seed),
            behind=self._staged,
        )
        self._open(tracker, event, node, call)
        if seed is not None:
            self._scan(seed, node, context, holder=event.ident)
        return True

    def _describe_fill(self, value: ast.expr) -> Fill:
        fill = values.fill_of(value, self._text(value), self._scope)
        dtype = expression_dtype(value, self._scope, self._buffers)
        return fill._replace(dtype=fill.dtype or dtype)

    def _open(self, tracker: _Tracker, event: Init, node: ast.stmt, call: ast.Call) -> None:
        self._add(tracker, event, Site(node, call))
        tracker.closed = False

    def _reducer_update(self, call: ast.Call, node: ast.Expr, context: Context) -> bool:
        target = argument(call, 0, "target", "reducer")
        if isinstance(target, ast.Subscript):
            tracker = self._tracked(target.value)
            value, form = argument(call, 1, "value"), UpdateForm.SHIPPED
            parts = index_parts(target)
        else:
            tracker = self._tracked(target)
            index = argument(call, 1, "indices", "index")
            value, form = argument(call, 2, "value"), UpdateForm.RFC
            parts = _tuple_parts(index)
        if tracker is None or value is None:
            return False
        event = Update(
            **self._at(call, context),
            form=form,
            indices=self._indices(parts),
            contribution=self._text(value),
            contribution_dtype=expression_dtype(value, self._scope, self._buffers),
            value_span=span_of(value),
            operands=self._operands(),
            row_values=self._row_values(tracker, parts),
            tile=self._tile(),
        )
        self._add(tracker, event, Site(node, call))
        for part in [*parts, value]:
            self._scan(part, node, context, holder=event.ident)
        return True

    def _finalize(self, call: ast.Call, node: ast.Expr, context: Context) -> bool:
        tracker = self._tracked(argument(call, 0, "reducer"))
        if tracker is None:
            return False
        second = argument(call, 1, "dst")
        if isinstance(second, ast.Constant) and second.value is None:
            second = None
        batch_node = argument(call, 2, "batch")
        positional = False
        if second is not None and self._is_batch(second, tracker):
            batch_node, second, positional = second, None, True
        buffer = self._buffers.get(second.id) if isinstance(second, ast.Name) else None
        batch = None
        if batch_node is not None:
            value = values.static_int(batch_node, self._scope)
            batch = Batch(self._text(batch_node), value, positional)
        event = Finalize(
            **self._at(call, context),
            destination=None if second is None else self._text(second),
            destination_dtype=None if buffer is None else _resolved(buffer.dtype),
            destination_shape=None if buffer is None else buffer.shape,
            batch=batch,
            destination_is_reducer=self._tracked(second) is not None,
            destination_start=self._start(second),
        )
        self._add(tracker, event, Site(node, call))
        tracker.closed = True
        combined = set(tracker.rows)
        result = tracker.name if second is None else self._text(second)
        rows = combined.pop() if len(combined) == 1 else None
        if rows is not None:
            self._rows[result] = rows._replace(name=result, reducer=True)
        for part in (second, batch_node):
            if part is not None and self._tracked(part) is not tracker:
                self._scan(part, node, context, holder=event.ident, bare=EscapeKind.OPERAND)
        return True

    def _start(self, node: ast.expr | None) -> tuple[Index, ...]:
        """Where a part of a buffer begins; nothing for a whole one."""
        if not isinstance(node, ast.Subscript):
            return ()
        zero = ast.Constant(0)
        parts = index_parts(node)
        starts = [p.lower or zero if isinstance(p, ast.Slice) else p for p in parts]
        return tuple(
            Index("0", 0) if start is zero else self._indices([start])[0] for start in starts
        )

    def _is_batch(self, node: ast.expr, tracker: _Tracker) -> bool:
        """Whether the second positional argument of a finalize is v1's batch."""
        if isinstance(node, ast.Name) and node.id in self._buffers:
            return False
        if values.static_number(node, self._scope) is not None:
            return True
        legacy = any(
            isinstance(event, Update) and event.form not in (UpdateForm.SHIPPED, UpdateForm.RFC)
            for event in tracker.events
        )
        return legacy and self._conditions.of(node) is Condition.COMPILE_TIME

    def _alloc(self, name: str, call: ast.Call, node: ast.stmt, context: Context) -> None:
        shape, dtype = argument(call, 0, "shape"), argument(call, 1, "dtype")
        if shape is None or dtype is None or any(key.arg is None for key in call.keywords):
            self._unnamed(call, node, context, name, EscapeKind.UNPACKED)
            return
        op_node, replication = argument(call, 2, "op"), argument(call, 3, "replication")
        event = Alloc(
            **self._at(call, context),
            shape=shape_of(shape, self._scope),
            shape_text=self._text(shape),
            dtype=values.dtype_of(dtype, self._scope),
            dtype_text=self._text(dtype),
            op=Op.SUM if op_node is None else self._static_op(op_node),
            op_text=None if op_node is None else self._text(op_node),
            replication=None if replication is None else self._text(replication),
        )
        tracker = self._current.get(name)
        if tracker is None or not all(
            exclusive(earlier.context, context) for earlier in tracker.allocs
        ):
            base = call.func.value if isinstance(call.func, ast.Attribute) else None
            tracker = _Tracker(name, base, self._kernel)
            self._current[name] = tracker
            self._done.append(tracker)
        tracker.closed = False
        self._add(tracker, event, Site(node, call))
        shared = self._scope.shared.get(name)
        if shared is not None:
            escape = Escape(**self._at(call, context), kind=EscapeKind.TARGET, detail=shared)
            self._add(tracker, escape, Site(node, call))
        for part in [*call.args, *(keyword.value for keyword in call.keywords)]:
            self._scan(part, node, context)

    def _static_op(self, node: ast.expr) -> Op | None:
        if isinstance(node, ast.Name):
            bound = self._scope.value(node.id)
            return None if bound is None or isinstance(bound, ast.Name) else self._static_op(bound)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return next((op for op in Op if op.value == node.value), None)
        return None

    def _unnamed(
        self,
        call: ast.Call,
        node: ast.stmt,
        context: Context,
        name: str,
        kind: EscapeKind = EscapeKind.TARGET,
    ) -> None:
        """An allocation that cannot be followed; `name` says where it goes."""
        tracker = _Tracker(name, None, self._kernel)
        self._done.append(tracker)
        shape = argument(call, 0, "shape")
        replication = argument(call, 3, "replication")
        alloc = Alloc(
            **self._at(call, context),
            shape=shape_of(shape, self._scope),
            replication=None if replication is None else self._text(replication),
        )
        self._add(tracker, alloc, Site(node, call))
        detail = ast.unparse(call.func) if kind is EscapeKind.UNPACKED else ""
        event = Escape(**self._at(call, context), kind=kind, detail=detail)
        self._add(tracker, event, Site(node, call))

    # Expressions

    def _scan(
        self,
        node: ast.expr,
        statement: ast.stmt,
        context: Context,
        *,
        holder: int | None = None,
        bare: EscapeKind = EscapeKind.OPERAND,
        skip: ast.expr | None = None,
    ) -> None:
        """Record every read of a reducer below `node`; `bare` names what a bare use would be."""
        if node is skip:
            return
        if isinstance(node, ast.Name):
            tracker = self._tracked(node)
            if tracker is not None:
                self._add_escape(tracker, bare, statement, node, context)
        elif isinstance(node, ast.Subscript) and self._tracked(node.value) is not None:
            self._load_element(node, statement, context, holder)
        elif isinstance(node, ast.Attribute) and self._tracked(node.value) is not None:
            if node.attr not in _METADATA:
                self._escape_node(node.value, EscapeKind.ADDRESS, statement, context, node.attr)
        elif called(node) in _ADDRESS and isinstance(node, ast.Call):
            for argument_node in node.args:
                base = argument_node.value if isinstance(argument_node, ast.Subscript) else None
                if base is not None:
                    name = called(node) or ""
                    self._escape_node(base, EscapeKind.ADDRESS, statement, context, name)
            self._scan_call(node, statement, context, holder, skip)
        elif isinstance(node, ast.Call):
            self._scan_call(node, statement, context, holder, skip)
        elif isinstance(node, ast.Lambda):
            self._nested.append(node)
            for part in outer_parts(node):
                self._scan(part, statement, context, holder=holder, bare=EscapeKind.ALIAS)
        elif isinstance(node, Comprehension):
            self._scan_comprehension(node, statement, context, holder, skip)
        elif isinstance(node, ast.NamedExpr) and allocates(node.value, self._scope):
            assert isinstance(node.value, ast.Call)
            self._unnamed(node.value, statement, context, ast.unparse(node.target))
        elif isinstance(node, ast.Compare) and _identity_test(node):
            return
        elif isinstance(node, ast.FormattedValue) and self._tracked(node.value) is not None:
            return  # what it is called
        else:
            inner = EscapeKind.OPERAND
            if isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.Set | ast.Starred):
                inner = bare if bare is EscapeKind.RETURN else EscapeKind.CONTAINER
            elif isinstance(node, ast.IfExp):
                inner = bare
            for child in ast.iter_child_nodes(node):
                self._scan_child(child, statement, context, holder, inner, skip)

    def _scan_child(
        self,
        child: ast.AST,
        statement: ast.stmt,
        context: Context,
        holder: int | None,
        bare: EscapeKind,
        skip: ast.expr | None,
    ) -> None:
        if isinstance(child, ast.expr):
            self._scan(child, statement, context, holder=holder, bare=bare, skip=skip)
        elif isinstance(child, ast.keyword):
            self._scan(child.value, statement, context, holder=holder, bare=bare, skip=skip)

    def _scan_comprehension(
        self,
        node: ComprehensionNode,
        statement: ast.stmt,
        context: Context,
        holder: int | None,
        skip: ast.expr | None,
    ) -> None:
        """Scan a comprehension, whose targets hide names everywhere but in its first iterable."""
        first, *rest = comprehension_parts(node)
        self._scan(first, statement, context, holder=holder, skip=skip)
        hidden = {
            name: self._current.pop(name)
            for generator in node.generators
            for name in bound_names(generator.target)
            if name in self._current
        }
        for part in rest:
            self._scan(part, statement, context, holder=holder, skip=skip)
        self._current.update(hidden)

    def _scan_children(self, node: ast.AST, statement: ast.stmt, context: Context) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._scan(child, statement, context)

    def _scan_call(
        self,
        call: ast.Call,
        statement: ast.stmt,
        context: Context,
        holder: int | None,
        skip: ast.expr | None,
    ) -> None:
        if allocates(call, self._scope):
            self._unnamed(call, statement, context, f"{ast.unparse(call.func)}(...)")
        self._scan(call.func, statement, context, holder=holder, skip=skip)
        arguments: list[tuple[int | str | None, ast.expr]] = [
            *enumerate(call.args),
            *((keyword.arg, keyword.value) for keyword in call.keywords),
        ]
        for place, value in arguments:
            tracker = self._tracked(value)
            if tracker is None:
                self._scan(value, statement, context, holder=holder, skip=skip)
            else:
                self._pass_whole(tracker, call, place, value, statement, context, holder)

    def _pass_whole(
        self,
        tracker: _Tracker,
        call: ast.Call,
        place: int | str | None,
        value: ast.expr,
        statement: ast.stmt,
        context: Context,
        holder: int | None,
    ) -> None:
        """A bare reducer among the arguments of a call."""
        name = called(call) or ""
        written = _WRITERS.get("reduce" if name.startswith("reduce_") else name)
        own_language = (
            isinstance(call.func, ast.Attribute)
            and tracker.base is not None
            and same(call.func.value, tracker.base)
        ) or isinstance(tracker.base, type(None))
        if not own_language and not tracker.closed:
            self._add_escape(tracker, EscapeKind.ARGUMENT, statement, value, context, name)
        elif written is not None and place in (written, "dst", "out"):
            self._add_store(tracker, value, statement, context, f"`{ast.unparse(call.func)}`")
        else:
            self._add_load(tracker, value, statement, context, holder)

    def _add_load(
        self,
        tracker: _Tracker,
        value: ast.expr,
        statement: ast.stmt,
        context: Context,
        holder: int | None,
    ) -> None:
        """A read of the whole reducer."""
        event = Load(**self._at(value, context), form=LoadForm.WHOLE, holder=holder)
        self._add(tracker, event, Site(statement, value))

    def _load_element(
        self, node: ast.Subscript, statement: ast.stmt, context: Context, holder: int | None
    ) -> None:
        tracker = self._tracked(node.value)
        assert tracker is not None
        event = Load(
            **self._at(node, context),
            form=LoadForm.ELEMENT,
            indices=self._indices(index_parts(node)),
            holder=holder,
        )
        self._add(tracker, event, Site(statement, node.value))
        self._scan(node.slice, statement, context, holder=holder)

    def _captures(self, node: ast.AST) -> None:
        """Uses of this function's reducers inside a nested function, class or lambda."""
        for use in free_names(node):
            for tracker in self._done:
                if tracker.name == use.id:
                    site = tracker.sites[tracker.events[0].ident]
                    self._add_escape(tracker, EscapeKind.CAPTURE, site.statement, use, ())

    # Bookkeeping

    def _tracked(self, node: ast.AST | None) -> _Tracker | None:
        return self._current.get(node.id) if isinstance(node, ast.Name) else None

    def _at(self, node: ast.stmt | ast.expr, context: Context) -> _Place:
        self._count += 1
        return {"ident": self._count, "span": span_of(node), "context": context}

    def _add(self, tracker: _Tracker, event: Event, site: Site) -> None:
        tracker.events.append(event)
        tracker.sites[event.ident] = site

    def _add_update(
        self,
        tracker: _Tracker,
        target: ast.Subscript,
        value: ast.expr,
        node: ast.stmt,
        statement: ast.stmt,
        context: Context,
        form: UpdateForm,
        combine: Op,
        leaf: updates.Leaf | None = None,
    ) -> int:
        typed = value if leaf is None else _without_leaf(value, leaf)
        alone = leaf is None or len(leaf.path) == 1
        event = Update(
            **self._at(node, context),
            form=form,
            combine=combine,
            indices=self._indices(index_parts(target)),
            contribution=self._text(typed) if alone else "",
            contribution_dtype=expression_dtype(typed, self._scope, self._buffers),
            value_span=span_of(value),
            operands=self._operands(),
            row_values=self._row_values(tracker, index_parts(target)),
            tile=self._tile(),
        )
        self._add(tracker, event, Site(statement, node, leaf))
        return event.ident

    def _add_store(
        self, tracker: _Tracker, target: ast.expr, node: ast.stmt, context: Context, what: str
    ) -> int:
        indices = index_parts(target) if isinstance(target, ast.Subscript) else []
        name = target.value if isinstance(target, ast.Subscript) else target
        event = Store(**self._at(target, context), what=what, indices=self._indices(indices))
        self._add(tracker, event, Site(node, name))
        return event.ident

    def _add_escape(
        self,
        tracker: _Tracker,
        kind: EscapeKind,
        statement: ast.stmt,
        node: ast.expr,
        context: Context,
        detail: str = "",
    ) -> None:
        event = Escape(**self._at(node, context), kind=kind, detail=detail)
        self._add(tracker, event, Site(statement, node))

    def _escape_node(
        self,
        node: ast.expr,
        kind: EscapeKind,
        statement: ast.stmt,
        context: Context,
        detail: str,
    ) -> None:
        tracker = self._tracked(node)
        if tracker is not None:
            self._add_escape(tracker, kind, statement, node, context, detail)

    def _escape(
        self, name: str, kind: EscapeKind, statement: ast.stmt, node: ast.expr, context: Context
    ) -> None:
        tracker = self._current.get(name)
        if tracker is not None:
            self._add_escape(tracker, kind, statement, node, context)

    def _rebind(self, name: str, statement: ast.stmt, context: Context) -> None:
        tracker = self._current.get(name)
        if tracker is not None:
            event = Escape(**self._at(statement, context), kind=EscapeKind.REBIND)
            self._add(tracker, event, Site(statement, statement))

    def _operands(self) -> Operands | None:
        if self._nest is None:
            return None
        return operands_of(self._nest, self._buffers, lambda: self._collective)

    def _tile(self) -> tuple[str, ...]:
        if self._nest is None:
            return ()
        return tile_axes(self._nest, self._scope, self._buffers)

    @cached_property
    def _collective(self) -> bool:
        return has_collective(self._scope, self._buffers)

    def _row_values(self, tracker: _Tracker, parts: Sequence[ast.expr]) -> RowValues | None:
        """The row values that an update reads; notes the rows that it combines itself."""
        if self._nest is None:
            tracker.rows.append(None)
            return None
        tracker.rows.append(updated_rows(self._nest, parts, self._scope, self._buffers))
        if not self._rows:
            return None
        return row_values(self._nest, parts, self._rows, self._buffers, tracker.name)

    def _indices(self, parts: Sequence[ast.expr]) -> tuple[Index, ...]:
        return tuple(
            Index(
                self._text(part),
                values.static_int(part, self._scope),
                part.id if isinstance(part, ast.Name) else None,
            )
            for part in parts
        )

    def _loop(self, node: ast.For) -> Loop:
        kind = self._loop_kind(node.iter)
        extents: tuple[int | None, ...] = ()
        stages = None
        if isinstance(node.iter, ast.Call):
            extents = self._extents(node.iter)
            given = argument(node.iter, len(node.iter.args), "num_stages")
            stages = 0 if given is None else values.static_int(given, self._scope)
        names = tuple(bound_names(node.target))
        staged = kind is LoopKind.PIPELINED and copies_to_shared(node, self._buffers)
        return Loop(self._frame(None), kind, span_of(node), names, extents, stages, staged)

    def _loop_kind(self, iterable: ast.expr) -> LoopKind:
        name = called(iterable)
        if name in _LOOPS:
            return _LOOPS[name]
        literal = isinstance(iterable, ast.List | ast.Tuple | ast.Set | ast.Dict)
        if literal or name in _TRACED_ITERATORS:
            return LoopKind.TRACE
        compile_time = self._conditions.of(iterable) is Condition.COMPILE_TIME
        if isinstance(iterable, ast.Name | ast.Attribute) and compile_time:
            return LoopKind.TRACE
        return LoopKind.UNKNOWN

    def _extents(self, call: ast.Call) -> tuple[int | None, ...]:
        parts = [values.static_int(value, self._scope) for value in call.args]
        if called(call) in ("Parallel", "grid"):
            return tuple(parts)
        if len(parts) == 1:
            return (parts[0],)
        if len(parts) == 2 and parts[0] is not None and parts[1] is not None:
            return (max(0, parts[1] - parts[0]),)
        return (None,)

    def _frame(self, key: str | None) -> int:
        """A frame ident; equal keys share one, since a compile-time test has one answer."""
        if key is None:
            key = f"#{len(self._frames)}"
        return self._frames.setdefault(key, len(self._frames))

    def _text(self, node: ast.expr) -> str:
        span = span_of(node)
        start = self._source.offset(span.line, span.column)
        return self._source.text[start : self._source.offset(span.end_line, span.end_column)]


def _resolved(dtype: str | None) -> str | None:
    return None if dtype is None or dtype.startswith("$") else dtype


def _whole_names(node: ast.expr) -> list[ast.Name]:
    """The names below `node` that are neither indexed nor asked for an attribute."""
    parts = {
        id(child.value)
        for child in ast.walk(node)
        if isinstance(child, ast.Subscript | ast.Attribute)
    }
    return [
        child for child in ast.walk(node) if isinstance(child, ast.Name) and id(child) not in parts
    ]


def _slices(target: ast.Subscript) -> bool:
    return any(isinstance(part, ast.Slice | ast.Starred) for part in index_parts(target))


def _tuple_parts(index: ast.expr | None) -> list[ast.expr]:
    if index is None:
        return []
    return list(index.elts) if isinstance(index, ast.Tuple | ast.List) else [index]


def _without_leaf(value: ast.expr, leaf: updates.Leaf) -> ast.expr:
    """The operand beside the leaf: what gives a contribution its dtype."""
    parent: ast.expr = value
    for side in leaf.path[:-1]:
        parent = updates.operands(parent)[side]
    return updates.operands(parent)[1 - leaf.path[-1]]


def _case_text(case: ast.match_case) -> str:
    """`case 1 if flag`, on one line."""
    guard = "" if case.guard is None else f" if {ast.unparse(case.guard)}"
    return f"case {ast.unparse(case.pattern)}{guard}"


def _identity_test(node: ast.Compare) -> bool:
    return all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)


def _symbol(operator: ast.operator) -> str:
    template = ast.AugAssign(ast.Name("x", ast.Store()), operator, ast.Name("y", ast.Load()))
    return ast.unparse(template)[1:-1].strip().removesuffix("=")
