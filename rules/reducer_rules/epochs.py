"""Lifetimes and epochs: which events belong to one allocation, and what happens before what.

Order is that of the program text. Two events share a path unless they lie in different arms of
one conditional, or of two compile-time conditionals on the same text, which a trace resolves
alike.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple, TypeVar

from reducer_rules.monoid import Op, identity, integer_bounds
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
    Init,
    InitForm,
    Timeline,
    UpdateForm,
    exclusive,
    pairs,
)

_E = TypeVar("_E", bound=Event)
_Key = int | str
#: Every way a condition can be decided.
ALL_CONDITIONS = frozenset(Condition)


class Lifetime(NamedTuple):
    """One allocation and the events that may happen to it.

    `implicit` says that the allocation itself opens the epoch, as in the RFC's spelling.
    """

    alloc: Alloc
    events: tuple[Event, ...]
    implicit: bool = False

    def of(self, kind: type[_E]) -> tuple[_E, ...]:
        return tuple(event for event in self.events if isinstance(event, kind))

    @property
    def openers(self) -> tuple[Event, ...]:
        """What opens an epoch: the inits, or the allocation where it opens one implicitly."""
        inits = self.of(Init)
        return inits if inits or not self.implicit else (self.alloc,)

    def opener(self, event: Event) -> Event | None:
        """The last opener before `event` on a common path."""
        before = [opener for opener in self.openers if precedes(opener, event)]
        return before[-1] if before else None

    def closers(self, event: Event) -> tuple[Finalize, ...]:
        """The finalizes before `event` on a common path with no opener in between."""
        return tuple(
            finalize
            for finalize in self.of(Finalize)
            if precedes(finalize, event)
            and not any(
                precedes(finalize, opener) and precedes(opener, event) for opener in self.openers
            )
        )


def lifetimes(timeline: Timeline) -> tuple[Lifetime, ...]:
    """The lifetime of each allocation; none where the reducer escapes, so that life is unknown.

    An event after a conditional that allocates in both arms belongs to both lifetimes.
    """
    known: dict[str, tuple[Lifetime, ...]] = vars(timeline)
    if "lifetimes" not in known:
        # As `cached_property` does: every rule asks for them.
        known["lifetimes"] = _lifetimes(timeline)
    return known["lifetimes"]


def _lifetimes(timeline: Timeline) -> tuple[Lifetime, ...]:
    if timeline.of(Escape):
        return ()
    implicit = any(update.form is UpdateForm.RFC for update in timeline.updates)
    return tuple(
        Lifetime(alloc, _events_of(alloc, timeline), implicit) for alloc in timeline.allocs
    )


def _events_of(alloc: Alloc, timeline: Timeline) -> tuple[Event, ...]:
    later = tuple(other for other in timeline.allocs if precedes(alloc, other))

    def replaced(event: Event) -> bool:
        return any(
            precedes(other, event) and event.context[: len(other.context)] == other.context
            for other in later
        )

    return tuple(
        event
        for event in timeline.events
        if precedes(alloc, event) and not (later and replaced(event))
    )


def escapes(timeline: Timeline) -> tuple[Escape, ...]:
    """The escapes up to the first rebinding: the name may stand for something else after it."""
    found: list[Escape] = []
    for escape in timeline.of(Escape):
        found.append(escape)
        if escape.kind is EscapeKind.REBIND:
            break
    return tuple(found)


def distinct(events: Iterable[_E]) -> tuple[_E, ...]:
    """`events` without repetitions, in order of appearance in the program."""
    return tuple(sorted({event.ident: event for event in events}.values(), key=_ident))


def _ident(event: Event) -> int:
    return event.ident


def precedes(earlier: Event, later: Event) -> bool:
    """Whether `earlier` comes first in the text and one execution may reach both."""
    return earlier.ident < later.ident and not apart(earlier.context, later.context)


def apart(left: Context, right: Context) -> bool:
    """Whether no single execution reaches both contexts."""
    if not left or not right:
        return False
    if exclusive(left, right):
        return True
    arms = _traced_arms(left)
    return any(arms.get(key, arm) != arm for key, arm in _traced_arms(right).items())


def traced_apart(left: Context, right: Context) -> bool:
    """Whether a trace emits code for at most one of the two contexts."""
    if not left or not right:
        return False
    for a, b in zip(left, right, strict=False):
        if a == b:
            continue
        if (
            isinstance(a, Branch)
            and isinstance(b, Branch)
            and a.ident == b.ident
            and a.arm != b.arm
            and a.condition is Condition.COMPILE_TIME
        ):
            return True
        break
    arms = _traced_arms(left)
    return any(arms.get(key, arm) != arm for key, arm in _traced_arms(right).items())


def _traced_arms(context: Context) -> dict[_Key, int]:
    return {
        frame.text: frame.arm
        for frame in context
        if isinstance(frame, Branch) and frame.condition is Condition.COMPILE_TIME and frame.text
    }


def branch_key(branch: Branch) -> _Key:
    """What decides a branch: its text where a trace resolves it, else the conditional itself.

    A run-time condition written out twice over plain names is decided alike too; one with a
    call or a load in it may change between.
    """
    stable = branch.condition is Condition.COMPILE_TIME or (
        branch.condition is Condition.UNIFORM and not set("([") & set(branch.text)
    )
    return branch.text if stable and branch.text else branch.ident


def extra_branches(event: Event, beyond: Event) -> tuple[Branch, ...]:
    """The branches around `event` that do not decide alike for `beyond`."""
    held = {(branch_key(branch), branch.arm) for branch in beyond.branches}
    return tuple(b for b in event.branches if (branch_key(b), b.arm) not in held)


def covers(
    sources: Iterable[Event],
    target: Event,
    conditions: Container[Condition] = ALL_CONDITIONS,
    given: Iterable[Branch] = (),
) -> bool:
    """Whether every path to `target` passes one of `sources`, loops taken to run at least once.

    Only branches decided by one of `conditions` count, and those `given` are known to be taken.
    """
    taken = {(branch_key(branch), branch.arm) for branch in given}
    return _exhaustive(
        [
            frozenset(
                (branch_key(branch), branch.arm)
                for branch in extra_branches(source, target)
                if branch.condition in conditions
            )
            - taken
            for source in sources
        ]
    )


def _exhaustive(needs: list[frozenset[tuple[_Key, int]]]) -> bool:
    """Whether the conjunctions `needs` of (condition, arm) hold for every choice of arms."""
    if any(not need for need in needs):
        return True
    if not needs:
        return False
    key = next(iter(needs[0]))[0]
    return all(
        _exhaustive([need - {(key, arm)} for need in needs if (key, 1 - arm) not in need])
        for arm in (0, 1)
    )


def repeats(events: tuple[_E, ...]) -> tuple[tuple[_E, _E], ...]:
    """Every event that one emitted program holds a second time, with the first of its kind."""
    found: dict[int, tuple[_E, _E]] = {}
    for earlier, later in pairs(events):
        if not traced_apart(earlier.context, later.context):
            found.setdefault(later.ident, (earlier, later))
    return tuple(found.values())


def emitted(context: Context) -> tuple[Frame, ...]:
    """The frames that are left in the program once a trace has resolved its conditions."""
    return tuple(
        frame
        for frame in context
        if not (isinstance(frame, Branch) and frame.condition is Condition.COMPILE_TIME)
    )


def fill_of(init: Init) -> Fill | None:
    """The value an init gives every partial, or None for the identity by construction."""
    return Fill("0", number=0) if init.form is InitForm.CLEAR else init.fill


def is_identity(op: Op | None, dtype: str | None, fill: Fill | None) -> bool | None:
    """Whether opening with `fill` equals opening at the identity of `op` on `dtype`.

    None where it cannot be told. `T.min_value` of a float is finite, so it is no identity of
    max, whose identity is minus infinity.
    """
    if fill is None:
        return True
    if op is None:
        return None
    neutral = identity(op, dtype or "")
    value = fill.number if fill.limit is None else _limit(fill)
    if fill.limit is not None and value is None and fill.dtype is not None:
        return False
    if value is None:
        return None
    if neutral is None:
        infinite = {Op.MAX: float("-inf"), Op.MIN: float("inf")}.get(op)
        return True if value == infinite else None
    return bool(value == neutral)


def _limit(fill: Fill) -> int | None:
    bounds = integer_bounds(fill.dtype or "")
    if bounds is None:
        return None
    return bounds[0] if fill.limit == "lowest" else bounds[1]
