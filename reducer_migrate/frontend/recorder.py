"""The reducers of the function that is walked: what happened to each so far, and where."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple, TypedDict

from reducer_migrate.frontend.buffers import shape_of
from reducer_migrate.frontend.facts import Facts
from reducer_migrate.frontend.launch import warp_specialized
from reducer_migrate.frontend.macros import Passage
from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import argument, index_parts, span_of
from reducer_migrate.frontend.updates import Leaf
from reducer_rules.monoid import Op
from reducer_rules.timeline import (
    Alloc,
    Context,
    Escape,
    EscapeKind,
    Event,
    Kernel,
    Load,
    LoadForm,
    Loop,
    RowValues,
    Span,
    Store,
    Timeline,
    exclusive,
)


class Site(NamedTuple):
    """Where an event stands: its statement, its own node, and the leaf of a combine store.

    `passage` is the call of the macro that it happens in, if it is in one. What happens in a macro
    of another module stands where that is called.
    """

    statement: ast.stmt
    node: ast.expr | ast.stmt
    leaf: Leaf | None = None
    passage: Passage | None = None


class Reducer(NamedTuple):
    """A timeline with the syntax behind each of its events."""

    timeline: Timeline
    sites: dict[int, Site]
    scope: Scope
    passed: tuple[Passed, ...] = ()

    def statement(self, event: Event) -> ast.stmt:
        """The statement that an event stands in."""
        return self.sites[event.ident].statement

    def call(self, event: Event) -> ast.Call:
        """The call that an event is: an allocation, or any other operation of the language."""
        node = self.sites[event.ident].node
        assert isinstance(node, ast.Call)
        return node


class Passed(NamedTuple):
    """A reducer that a macro knows by `name` in one call of it."""

    passage: Passage
    name: str


class Place(NamedTuple):
    """What an expression is part of: a statement, and the event, if any, that it is read for.

    `own` is the reducer's own element in a combine store, which is part of the update and no read.
    """

    statement: ast.stmt
    context: Context
    holder: int | None = None
    own: ast.expr | None = None


class Stamp(TypedDict):
    """What every event has."""

    ident: int
    span: Span
    context: Context


@dataclass
class Tracker:
    """A reducer while its function is being walked.

    `base` is the language it is allocated by (the `T` of `T.alloc_reducer`), None for a bare name.
    `closed` says that the last event to open or close an epoch closed one; `rows` holds the row
    values that each update combines.
    """

    name: str
    base: ast.expr | None
    kernel: Kernel
    events: list[Event] = field(default_factory=list)
    sites: dict[int, Site] = field(default_factory=dict)
    rows: list[RowValues | None] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)
    closed: bool = False

    @property
    def allocs(self) -> list[Alloc]:
        return [event for event in self.events if isinstance(event, Alloc)]

    @property
    def op(self) -> Op | None:
        """The combine of every allocation; None where they differ or it is not static."""
        ops = {alloc.op for alloc in self.allocs}
        return ops.pop() if len(ops) == 1 else None


class Recorder:
    """Knows which name stands for which reducer at this point of the walk, and takes down events.

    `kernel` is the launch around the statement that is walked, `pipeline` the first loop in it that
    came to an end and that TileLang may divide between producers and consumers, `withheld` the one
    whose producers would have the statement to themselves, and `starved` holds the fragments that
    the producers of one would fill. `passage` is the call of the macro that is walked, if one is.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        node = facts.scope.node
        name = "" if isinstance(node, ast.Module) else node.name
        self.kernel = Kernel(name, warp_specialized=warp_specialized(facts.scope))
        self.pipeline: Loop | None = None
        self.withheld: Loop | None = None
        self.starved: dict[str, Loop] = {}
        self.trackers: list[Tracker] = []
        self.passage: Passage | None = None
        self._current: dict[str, Tracker] = {}
        self._handed: dict[str, Tracker] = {}
        self._events = count(1)
        self._frames: dict[str, int] = {}

    def reducers(self) -> tuple[Reducer, ...]:
        """Every reducer met so far, in order of allocation."""
        return tuple(
            Reducer(
                Timeline(tracker.name, tuple(tracker.events), tracker.kernel),
                tracker.sites,
                self.facts.scope,
                tuple(tracker.passed),
            )
            for tracker in self.trackers
        )

    def frame(self, key: str | None = None) -> int:
        """A frame ident; equal keys share one, since a compile-time test has one answer."""
        if key is None:
            key = f"#{len(self._frames)}"
        return self._frames.setdefault(key, len(self._frames))

    def inside(self, passage: Passage, facts: Facts, names: dict[str, Tracker]) -> Recorder:
        """The same for the body of a macro, which knows reducers by other `names`."""
        inner = copy(self)
        inner.facts, inner.passage, inner.trackers = facts, passage, []
        inner._current, inner._handed = dict(names), names
        for name, tracker in names.items():
            tracker.passed.append(Passed(passage, name))
        return inner

    # Names

    def names(self) -> Iterator[tuple[str, Tracker]]:
        """Every name that stood for a reducer here, with that."""
        yield from self._handed.items()
        yield from ((tracker.name, tracker) for tracker in self.trackers)

    def current(self) -> dict[str, Tracker]:
        """The reducers by the names that stand for them now."""
        return dict(self._current)

    def tracked(self, node: ast.AST | None) -> Tracker | None:
        """The reducer that an expression is the name of."""
        return self._current.get(node.id) if isinstance(node, ast.Name) else None

    def named(self, name: str) -> Tracker | None:
        """The reducer that a name stands for."""
        return self._current.get(name)

    @contextmanager
    def hidden(self, names: Iterable[str]) -> Iterator[None]:
        """While it is open the names stand for something else, as in a comprehension."""
        hidden = {name: self._current.pop(name) for name in names if name in self._current}
        yield
        self._current.update(hidden)

    # Events

    def stamp(self, node: ast.stmt | ast.expr, place: Place) -> Stamp:
        return {"ident": next(self._events), "span": span_of(node), "context": place.context}

    def add(self, tracker: Tracker, event: Event, site: Site) -> None:
        if self.passage is not None:
            site = site._replace(passage=self.passage)
            if not self.passage.macro.own:
                event, site = _where_called(event, site, self.passage)
        tracker.events.append(event)
        tracker.sites[event.ident] = site

    def allocated(self, name: str, call: ast.Call, event: Alloc, place: Place) -> Tracker:
        """Bind a name to a reducer: a new one, or that of the other arm of a branch."""
        tracker = self._current.get(name)
        if tracker is None or not all(
            exclusive(earlier.context, place.context) for earlier in tracker.allocs
        ):
            base = call.func.value if isinstance(call.func, ast.Attribute) else None
            tracker = self._current[name] = self._tracker(name, base)
        tracker.closed = False
        self.add(tracker, event, Site(place.statement, call))
        return tracker

    def unnamed(
        self, where: str, call: ast.Call, place: Place, kind: EscapeKind = EscapeKind.TARGET
    ) -> None:
        """An allocation that cannot be followed; `where` says where it goes."""
        tracker = self._tracker(where, None)
        replication = argument(call, 3, "replication")
        alloc = Alloc(
            **self.stamp(call, place),
            shape=shape_of(argument(call, 0, "shape"), self.facts.scope),
            replication=None if replication is None else self.facts.text(replication),
        )
        self.add(tracker, alloc, Site(place.statement, call))
        detail = self.facts.spelled(call.func) if kind is EscapeKind.UNPACKED else ""
        self.escape(tracker, kind, call, place, detail)

    def store(self, tracker: Tracker, target: ast.expr, place: Place, what: str) -> int:
        """A write that is no update; `what` describes it. Gives the event's ident."""
        node, parts = target, list[ast.expr]()
        if isinstance(target, ast.Subscript):
            node, parts = target.value, index_parts(target)
        event = Store(**self.stamp(target, place), what=what, indices=self.facts.indices(parts))
        self.add(tracker, event, Site(place.statement, node))
        return event.ident

    def load(self, tracker: Tracker, node: ast.expr, place: Place) -> None:
        """A read of the whole reducer."""
        event = Load(**self.stamp(node, place), form=LoadForm.WHOLE, holder=place.holder)
        self.add(tracker, event, Site(place.statement, node))

    def load_element(self, tracker: Tracker, node: ast.Subscript, place: Place) -> None:
        event = Load(
            **self.stamp(node, place),
            form=LoadForm.ELEMENT,
            indices=self.facts.indices(index_parts(node)),
            holder=place.holder,
        )
        self.add(tracker, event, Site(place.statement, node.value))

    def escape(
        self, tracker: Tracker, kind: EscapeKind, node: ast.expr, place: Place, detail: str = ""
    ) -> None:
        event = Escape(**self.stamp(node, place), kind=kind, detail=detail)
        self.add(tracker, event, Site(place.statement, node))

    def rebind(self, name: str, place: Place) -> None:
        """A statement that gives a name another value, which loses the reducer it stood for."""
        tracker = self.named(name)
        if tracker is not None:
            event = Escape(**self.stamp(place.statement, place), kind=EscapeKind.REBIND)
            self.add(tracker, event, Site(place.statement, place.statement))

    def _tracker(self, name: str, base: ast.expr | None) -> Tracker:
        tracker = Tracker(name, base, self.kernel)
        self.trackers.append(tracker)
        return tracker


def _where_called(event: Event, site: Site, passage: Passage) -> tuple[Event, Site]:
    """An event of a macro of another module, at the call in this one that leads to it."""
    called = passage.visible
    span = span_of(called.call)
    outside = len(called.context)
    within = (frame._replace(span=span) for frame in event.context[outside:])
    context = (*event.context[:outside], *within)
    site = site._replace(statement=called.statement, node=called.call)
    return replace(event, span=span, context=context), site
