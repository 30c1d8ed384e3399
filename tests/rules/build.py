"""A tiny builder of timelines: one call an event, one line of made-up source each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reducer_rules import Finding, Target, Timeline
from reducer_rules.catalogue import rule
from reducer_rules.monoid import Op
from reducer_rules.timeline import (
    Alloc,
    Branch,
    Condition,
    Context,
    Escape,
    EscapeKind,
    Event,
    Fill,
    Finalize,
    Frame,
    Index,
    Init,
    InitForm,
    Load,
    LoadForm,
    Loop,
    LoopKind,
    Span,
    Store,
    Update,
    UpdateForm,
)

PARALLEL = LoopKind.PARALLEL


class Sketch:
    """Events in program order; event number n stands on line n of the source."""

    def __init__(self, name: str = "acc") -> None:
        self.name = name
        self.events: list[Event] = []
        self.context: Context = ()
        self.frames = 0

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.name, tuple(self.events))

    @contextmanager
    def _inside(self, frame: Frame) -> Iterator[None]:
        outer = self.context
        self.context = (*outer, frame)
        try:
            yield
        finally:
            self.context = outer

    def _place(self) -> dict[str, Any]:
        line = len(self.events) + 1
        return {"ident": line, "span": Span(line), "context": self.context}

    def loop(
        self,
        kind: LoopKind = PARALLEL,
        variables: tuple[str, ...] = ("i",),
        extents: tuple[int | None, ...] = (8,),
    ) -> Any:
        self.frames += 1
        line = Span(len(self.events) + 1)
        return self._inside(Loop(self.frames, kind, line, variables, extents))

    def branch(
        self,
        condition: Condition = Condition.UNIFORM,
        arm: int = 0,
        text: str = "n > 0",
        ident: int | None = None,
    ) -> Any:
        """One arm; give `ident` to make two arms of one conditional."""
        self.frames += 1
        line = Span(len(self.events) + 1)
        ident = self.frames if ident is None else ident
        return self._inside(
            Branch(ident, arm, condition, line if ident == self.frames else Span(1), text)
        )

    def add(self, event: Event) -> None:
        self.events.append(event)

    def alloc(
        self,
        shape: tuple[int | None, ...] | None = (1,),
        dtype: str | None = "float32",
        op: Op | None = Op.SUM,
        **more: Any,
    ) -> None:
        self.add(Alloc(**self._place(), shape=shape, dtype=dtype, op=op, **more))

    def init(self, form: InitForm = InitForm.REDUCER_INIT, fill: Fill | None = None) -> None:
        self.add(Init(**self._place(), form=form, fill=fill))

    def clear(self) -> None:
        self.init(InitForm.CLEAR)

    def fill(self, text: str, number: float | None = None, **more: Any) -> None:
        self.init(InitForm.FILL, Fill(text, number, **more))

    def update(
        self,
        form: UpdateForm = UpdateForm.SHIPPED,
        combine: Op | None = None,
        indices: tuple[Index, ...] = (Index("0", 0),),
        contribution: str = "A[i]",
        **more: Any,
    ) -> None:
        self.add(
            Update(
                **self._place(),
                form=form,
                combine=combine,
                indices=indices,
                contribution=contribution,
                **more,
            )
        )

    def augment(self, **more: Any) -> None:
        self.update(UpdateForm.AUGMENTED, Op.SUM, **more)

    def contribute(self, **more: Any) -> None:
        """A v2 update in a parallel loop of its own."""
        with self.loop():
            self.update(**more)

    def accumulate(self) -> None:
        """A v1 update in a parallel loop of its own."""
        with self.loop():
            self.augment()

    def store(self, what: str = "a plain store") -> None:
        self.add(Store(**self._place(), what=what, indices=(Index("0", 0),)))

    def load(self, form: LoadForm = LoadForm.ELEMENT, **more: Any) -> None:
        more.setdefault("indices", (Index("0", 0),))
        self.add(Load(**self._place(), form=form, **more))

    def finalize(self, destination: str | None = "result", **more: Any) -> None:
        self.add(Finalize(**self._place(), destination=destination, **more))

    def close(self) -> None:
        """A v1 finalize."""
        self.finalize(None)

    def escape(self, kind: EscapeKind, detail: str = "") -> None:
        self.add(Escape(**self._place(), kind=kind, detail=detail))


def v1() -> Sketch:
    """A complete v1 epoch: alloc 1, clear 2, update 3, finalize 4."""
    sketch = Sketch()
    sketch.alloc(replication="all")
    sketch.clear()
    sketch.accumulate()
    sketch.close()
    return sketch


def v2() -> Sketch:
    """A complete v2 epoch: alloc 1, init 2, update 3, finalize 4."""
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.contribute()
    sketch.finalize()
    return sketch


def rfc() -> Sketch:
    """A complete epoch in the RFC's spelling: alloc 1, update 2, finalize in place 3."""
    sketch = Sketch()
    sketch.alloc()
    sketch.contribute(form=UpdateForm.RFC)
    sketch.close()
    return sketch


def findings(code: str, sketch: Sketch, target: Target | None = None) -> list[Finding]:
    return list(rule(code).check(sketch.timeline, target or Target()))


def said(code: str, sketch: Sketch, target: Target | None = None) -> list[tuple[int, str]]:
    """The line and the message of everything one rule finds."""
    return [(found.span.line, found.message) for found in findings(code, sketch, target)]
