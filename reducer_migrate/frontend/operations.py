"""The operations of the language on reducers: from `alloc_reducer` to `finalize_reducer`."""

from __future__ import annotations

import ast

from reducer_migrate.frontend.buffers import shape_of
from reducer_migrate.frontend.contributions import Contributions, Written
from reducer_migrate.frontend.recorder import Place, Recorder, Site, Tracker
from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import argument, called, index_parts
from reducer_migrate.frontend.tiles import is_stored_only
from reducer_migrate.frontend.uses import Uses
from reducer_migrate.frontend.values import dtype_of, static_number
from reducer_rules.monoid import Op
from reducer_rules.timeline import (
    Alloc,
    Batch,
    Condition,
    EscapeKind,
    Finalize,
    Index,
    Init,
    InitForm,
    Update,
    UpdateForm,
)

#: The operations on a reducer, and the names of their parameters.
PARAMETERS = {
    "clear": frozenset({"buffer"}),
    "fill": frozenset({"buffer", "value"}),
    "reducer_init": frozenset({"reducer", "init"}),
    "reducer_update": frozenset({"target", "reducer", "indices", "index", "value"}),
    "finalize_reducer": frozenset({"reducer", "dst", "batch", "annotations"}),
}


class Operations:
    """Records the calls that allocate, open, update and close reducers."""

    def __init__(self, recorder: Recorder, uses: Uses, contributions: Contributions) -> None:
        self._recorder = recorder
        self._facts = recorder.facts
        self._uses = uses
        self._contributions = contributions
        self._handlers = {
            "clear": self._clear,
            "fill": self._fill,
            "reducer_init": self._init,
            "reducer_update": self._update,
            "finalize_reducer": self._finalize,
        }

    def called(self, call: ast.Call, place: Place) -> bool:
        """Record a call that is a statement; False where it is no operation on a reducer."""
        handler = self._handlers.get(called(call) or "")
        if handler is None:
            return False
        return self._is_unclear(call, place) or handler(call, place)

    def allocated(self, name: str, call: ast.Call, place: Place) -> None:
        """`name = T.alloc_reducer(...)`."""
        shape, dtype = argument(call, 0, "shape"), argument(call, 1, "dtype")
        if shape is None or dtype is None or any(key.arg is None for key in call.keywords):
            self._recorder.unnamed(name, call, place, EscapeKind.UNPACKED)
            return
        op, replication = argument(call, 2, "op"), argument(call, 3, "replication")
        scope = self._facts.scope
        event = Alloc(
            **self._recorder.stamp(call, place),
            shape=shape_of(shape, scope),
            shape_text=self._facts.text(shape),
            dtype=dtype_of(dtype, scope),
            dtype_text=self._facts.text(dtype),
            op=Op.SUM if op is None else _static_op(op, scope),
            op_text=self._text(op),
            replication=self._text(replication),
        )
        tracker = self._recorder.allocated(name, call, event, place)
        if name in scope.shared:
            escape = EscapeKind.TARGET
            self._recorder.escape(tracker, escape, call, place, scope.shared[name])
        for part in [*call.args, *(keyword.value for keyword in call.keywords)]:
            self._uses.scan(part, place)

    def _is_unclear(self, call: ast.Call, place: Place) -> bool:
        """An operation whose arguments cannot be told apart, or that has one v2 has no place for.

        Every reducer among the arguments escapes into it.
        """
        values = [*call.args, *(key.value for key in call.keywords)]
        known = PARAMETERS[called(call) or ""]
        strange = [key.arg for key in call.keywords if key.arg is not None and key.arg not in known]
        unpacked = any(isinstance(value, ast.Starred) for value in call.args)
        if unpacked or any(key.arg is None for key in call.keywords):
            kind, detail = EscapeKind.UNPACKED, self._facts.spelled(call.func)
        elif strange:
            kind, detail = EscapeKind.PARAMETER, f"{strange[0]}="
        else:
            return False
        found = False
        for name in (name for value in values for name in _whole_names(value)):
            tracker = self._recorder.tracked(name)
            if tracker is not None:
                self._recorder.escape(tracker, kind, name, place, detail)
                found = True
        return found

    # One operation each. They say whether it was on a reducer.

    def _clear(self, call: ast.Call, place: Place) -> bool:
        target = argument(call, 0, "buffer")
        tracker = self._recorder.tracked(target)
        if tracker is None:
            return self._partial_fill(target, place)
        self._open(tracker, call, place, InitForm.CLEAR, None)
        return True

    def _fill(self, call: ast.Call, place: Place) -> bool:
        target, value = argument(call, 0, "buffer"), argument(call, 1, "value")
        tracker = self._recorder.tracked(target)
        if tracker is None or value is None:
            return self._partial_fill(target, place)
        self._open(tracker, call, place, InitForm.FILL, value)
        return True

    def _init(self, call: ast.Call, place: Place) -> bool:
        tracker = self._recorder.tracked(argument(call, 0, "reducer"))
        if tracker is None:
            return False
        self._open(tracker, call, place, InitForm.REDUCER_INIT, argument(call, 1, "init"))
        return True

    def _partial_fill(self, target: ast.expr | None, place: Place) -> bool:
        if not isinstance(target, ast.Subscript):
            return False
        tracker = self._recorder.tracked(target.value)
        if tracker is None:
            return False
        self._recorder.store(tracker, target, place, "a fill of a part")
        return True

    def _open(
        self,
        tracker: Tracker,
        call: ast.Call,
        place: Place,
        form: InitForm,
        value: ast.expr | None,
    ) -> None:
        fill = None if value is None else self._facts.fill(value)
        stamp = self._recorder.stamp(call, place)
        behind, withheld = self._recorder.pipeline, self._recorder.withheld
        event = Init(**stamp, form=form, fill=fill, behind=behind, withheld=withheld)
        self._recorder.add(tracker, event, Site(place.statement, call))
        tracker.closed = False
        if value is not None:
            self._uses.scan(value, place._replace(holder=event.ident))

    def _update(self, call: ast.Call, place: Place) -> bool:
        target = argument(call, 0, "target", "reducer")
        if isinstance(target, ast.Subscript):
            tracker = self._recorder.tracked(target.value)
            form, parts = UpdateForm.SHIPPED, index_parts(target)
            value = argument(call, 1, "value")
        else:
            tracker = self._recorder.tracked(target)
            form, parts = UpdateForm.RFC, _parts(argument(call, 1, "indices", "index"))
            value = argument(call, 2, "value")
        if tracker is None or value is None:
            return False
        ident = self._contributions.add(tracker, Written(form, parts, value), call, place)
        for part in [*parts, value]:
            self._uses.scan(part, place._replace(holder=ident))
        return True

    def _finalize(self, call: ast.Call, place: Place) -> bool:
        tracker = self._recorder.tracked(argument(call, 0, "reducer"))
        if tracker is None:
            return False
        destination, batch = argument(call, 1, "dst"), argument(call, 2, "batch")
        positional = False
        if isinstance(destination, ast.Constant) and destination.value is None:
            destination = None
        if destination is not None and self._is_batch(destination, tracker):
            destination, batch, positional = None, destination, True
        event = self._finalize_event(call, place, destination, self._batch(batch, positional))
        self._recorder.add(tracker, event, Site(place.statement, call))
        tracker.closed = True
        self._contributions.finalized(tracker, event.destination or tracker.name)
        for part in (destination, batch):
            if part is not None and self._recorder.tracked(part) is not tracker:
                self._uses.scan(part, place._replace(holder=event.ident))
        return True

    def _finalize_event(
        self, call: ast.Call, place: Place, destination: ast.expr | None, batch: Batch | None
    ) -> Finalize:
        stamp = self._recorder.stamp(call, place)
        name = destination.id if isinstance(destination, ast.Name) else ""
        buffer = self._facts.buffers.get(name)
        dtype = None if buffer is None else buffer.dtype
        return Finalize(
            **stamp,
            destination=self._text(destination),
            destination_dtype=None if dtype is None or dtype.startswith("$") else dtype,
            destination_shape=None if buffer is None else buffer.shape,
            batch=batch,
            destination_is_reducer=self._recorder.tracked(destination) is not None,
            destination_start=self._start(destination),
            stored_only=self._is_stored_only(destination),
        )

    def _is_stored_only(self, destination: ast.expr | None) -> bool:
        """Whether a result, or a part of a buffer, has no other use than to be stored."""
        if not isinstance(destination, ast.Name):
            return destination is not None
        return is_stored_only(destination.id, self._facts.scope, self._facts.buffers)

    def _start(self, destination: ast.expr | None) -> tuple[Index, ...]:
        """Where a part of a buffer begins; nothing for a whole one."""
        if not isinstance(destination, ast.Subscript):
            return ()
        parts = index_parts(destination)
        starts = [part.lower if isinstance(part, ast.Slice) else part for part in parts]
        return tuple(Index("0", 0) if at is None else self._facts.index(at) for at in starts)

    def _batch(self, node: ast.expr | None, positional: bool) -> Batch | None:
        if node is None:
            return None
        return Batch(self._facts.text(node), self._facts.number(node), positional)

    def _is_batch(self, node: ast.expr, tracker: Tracker) -> bool:
        """Whether the second positional argument of a finalize is v1's batch."""
        if isinstance(node, ast.Name) and node.id in self._facts.buffers:
            return False
        if static_number(node, self._facts.scope) is not None:
            return True
        legacy = any(
            isinstance(event, Update) and event.form not in (UpdateForm.SHIPPED, UpdateForm.RFC)
            for event in tracker.events
        )
        return legacy and self._facts.conditions.of(node) is Condition.COMPILE_TIME

    def _text(self, node: ast.expr | None) -> str | None:
        return None if node is None else self._facts.text(node)


def _static_op(node: ast.expr, scope: Scope) -> Op | None:
    if isinstance(node, ast.Name):
        bound = scope.value(node.id)
        return None if bound is None or isinstance(bound, ast.Name) else _static_op(bound, scope)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return next((op for op in Op if op.value == node.value), None)
    return None


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


def _parts(index: ast.expr | None) -> list[ast.expr]:
    if index is None:
        return []
    return list(index.elts) if isinstance(index, ast.Tuple | ast.List) else [index]
