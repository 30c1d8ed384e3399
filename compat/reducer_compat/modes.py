"""The mode of the runtime, from the environment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum

from reducer_compat.errors import ReducerError

VARIABLE = "REDUCER_COMPAT"
#: Set to ``wide`` it forces one partial per participant and output.
PLAN_VARIABLE = "REDUCER_COMPAT_PLAN"


class Mode(str, Enum):
    """Whose lowering is used: see the package's documentation."""

    AUTO = "auto"
    NATIVE = "native"
    CANONICAL = "canonical"
    OFF = "off"

    def __str__(self) -> str:
        return self.value


def mode() -> Mode:
    """The mode that `REDUCER_COMPAT` names; auto where it is unset or empty.

    Raises:
        ReducerError: the variable holds something else.
    """
    text = os.environ.get(VARIABLE, "") or "auto"
    try:
        return Mode(text)
    except ValueError:
        known = ", ".join(str(member) for member in Mode)
        raise ReducerError(
            "RC004", f"{VARIABLE}={text!r} is no mode", fix=f"set it to one of {known}"
        ) from None


_GIVEN_UP: ContextVar[tuple[str, ...]] = ContextVar("reducer_compat_given_up", default=())


def given_up() -> tuple[str, ...]:
    """Why this kernel is being lowered again with wide plans; empty if it is not."""
    return _GIVEN_UP.get()


@contextlib.contextmanager
def wide_after(reason: str) -> Iterator[None]:
    """Plan wide within, because of `reason`."""
    token = _GIVEN_UP.set((f"narrower plan given up: {reason}",))
    try:
        yield
    finally:
        _GIVEN_UP.reset(token)
