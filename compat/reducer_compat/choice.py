"""Whose lowering the kernels of this process got, and how it keeps their partials."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from enum import Enum

_LOG = logging.getLogger("reducer_compat")


@dataclass(frozen=True, slots=True)
class Choice:
    """Whose lowering a kernel got: `reason` says why it was not TileLang's own, or is empty."""

    kernel: str
    native: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.kernel}: {'native' if self.native else f'canonical, {self.reason}'}"


#: The latest choices of this process, oldest first.
_LATEST: deque[Choice] = deque(maxlen=64)


def remember(choice: Choice) -> None:
    """Keep a choice."""
    _LATEST.append(choice)


def choices() -> tuple[Choice, ...]:
    """The latest choices, oldest first."""
    return tuple(_LATEST)


class PlanKind(str, Enum):
    """How threads share the outputs of a reducer."""

    ROWS = "rows"
    LAYOUT = "layout"
    WIDE = "wide"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """How the partials of one reducer are kept.

    Attributes:
        kernel: its name.
        reducer: its name.
        kind: ``rows``, where threads were given outputs and the loops spread accordingly;
            ``layout``, where the layouts that TileLang chose say which thread sees which outputs;
            ``wide``, where every thread has a partial of every output.
        partials: that each thread keeps.
        sharers: threads that contribute to one output.
        reason: why it is no narrower, for a wide plan; else empty.
    """

    kernel: str
    reducer: str
    kind: PlanKind
    partials: int
    sharers: int
    reason: str = ""

    def __str__(self) -> str:
        why = f", {self.reason}" if self.reason else ""
        numbers = f"partials in a thread: {self.partials}, threads for an output: {self.sharers}"
        return f"{self.kernel}, {self.reducer}: {self.kind} ({numbers}){why}"


#: The latest plans of this process, oldest first.
_PLANS: deque[PlanChoice] = deque(maxlen=200)


def remember_plan(found: PlanChoice) -> None:
    """Keep a plan, and log it."""
    _PLANS.append(found)
    _LOG.info("%s", found)


def plans() -> tuple[PlanChoice, ...]:
    """The latest plans, oldest first."""
    return tuple(_PLANS)
