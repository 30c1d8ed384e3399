"""Which of many alike cases a release runs, so that the release matrix has them all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from reducer_compat.adapter import adapter
from reducer_rules.release import TESTED

Item = TypeVar("Item")


def share(items: Sequence[Item]) -> Sequence[Item]:
    """Every eighth, of which each release has its own.

    `REDUCER_SHARE=all` runs all of them on the release at hand.
    """
    if os.environ.get("REDUCER_SHARE") == "all":
        return items
    return items[TESTED.index(adapter().release) :: len(TESTED)]


def newest() -> bool:
    """Whether the newest release runs."""
    return adapter().release == TESTED[-1]
