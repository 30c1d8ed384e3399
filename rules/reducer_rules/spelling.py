"""Which spelling a reducer's statements are in, and how v2 spells one of them."""

from __future__ import annotations

import re

from reducer_rules.timeline import (
    Alloc,
    Dialect,
    Event,
    Finalize,
    Init,
    InitForm,
    Timeline,
    Update,
    UpdateForm,
    dialect_of,
)

#: What a minus sign binds to as a whole.
_PRIMARY = re.compile(r"\w+(\.\w+|\[[^][]*\])*")
#: A longer value is named, not repeated, in a message.
_LONGEST_VALUE = 40


def v1_events(timeline: Timeline) -> tuple[Event, ...]:
    """What only v1 accepts. An in-place finalize belongs to the RFC's spelling as well."""
    rfc = Dialect.RFC in timeline.dialects()
    return tuple(
        event
        for event in timeline.events
        if dialect_of(event) is Dialect.V1
        or (isinstance(event, Finalize) and event.destination is None and not rfc)
    )


def v2_events(timeline: Timeline) -> tuple[Event, ...]:
    """What only v2 accepts, in either of its spellings."""
    return tuple(event for event in timeline.events if _is_v2(event))


def _is_v2(event: Event) -> bool:
    if isinstance(event, Init):
        return event.form is InitForm.REDUCER_INIT
    if isinstance(event, Finalize):
        return event.destination is not None
    return dialect_of(event) in (Dialect.SHIPPED, Dialect.RFC)


def v1_statements(timeline: Timeline) -> tuple[Event, ...]:
    """The v1 events other than the allocation."""
    return tuple(event for event in v1_events(timeline) if not isinstance(event, Alloc))


def element(name: str, update: Update) -> str:
    """The output that `update` contributes to, as `acc[i, j]`."""
    return f"{name}[{', '.join(index.text for index in update.indices) or '...'}]"


def short(text: str) -> str:
    """`text` where it fits into a message, else the word `value`."""
    return text if text and "\n" not in text and len(text) <= _LONGEST_VALUE else "value"


def update_call(name: str, update: Update, dialect: Dialect | None) -> str:
    """The call that makes the contribution of `update` in v2."""
    value = short(update.contribution)
    if update.form is UpdateForm.SUBTRACT:
        value = f"-{value}" if _PRIMARY.fullmatch(value) else f"-({value})"
    if dialect is not Dialect.RFC:
        return f"T.reducer_update({element(name, update)}, {value})"
    indices = [index.text for index in update.indices]
    where = indices[0] if len(indices) == 1 else f"({', '.join(indices) or '...'})"
    return f"T.reducer_update({name}, {where}, {value})"
