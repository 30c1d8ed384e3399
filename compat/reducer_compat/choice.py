"""Whose lowering the kernels of this process got."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


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
