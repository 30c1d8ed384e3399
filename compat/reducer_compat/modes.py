"""The mode of the runtime, from the environment."""

from __future__ import annotations

import os
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


def plans_wide() -> bool:
    """Whether `REDUCER_COMPAT_PLAN` asks for wide plans; it does not where it is unset or empty.

    Raises:
        ReducerError: the variable holds something else.
    """
    text = os.environ.get(PLAN_VARIABLE, "")
    if text not in ("", "wide"):
        raise ReducerError(
            "RC004", f"{PLAN_VARIABLE}={text!r} is no plan", fix="set it to wide, or leave it unset"
        )
    return text == "wide"
