"""Which of many alike cases a release runs, so that the release matrix has them all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from reducer_compat.adapter import adapter
from reducer_rules.release import TESTED

Item = TypeVar("Item")


def share(items: Sequence[Item]) -> Sequence[Item]:
    """Every eighth, of which each release has its own.

    `REDUCER_SHARE=all` runs all of them on the release at hand.
    """
    if _everything():
        return items
    return items[TESTED.index(adapter().release) :: len(TESTED)]


def dealt(*axes: Iterable[Any], hands: int = len(TESTED) - 1) -> Sequence[Any]:
    """All on the newest release; on an older one its hand of them, dealt like cards.

    With as many `hands` as there are older releases these have each case between them once. With
    fewer hands several releases have the same, and with more some cases run on the newest alone.
    No release goes without. Of several `axes` the cases are all combinations, as tuples.
    `REDUCER_SHARE=all` runs all on any release.
    """
    cases = list(*axes) if len(axes) == 1 else list(itertools.product(*axes))
    if newest() or _everything():
        return cases
    hands = min(hands, len(cases))
    return cases[TESTED.index(adapter().release) % hands :: hands]


def newest() -> bool:
    """Whether the newest release runs."""
    return adapter().release == TESTED[-1]


def _everything() -> bool:
    return os.environ.get("REDUCER_SHARE") == "all"
