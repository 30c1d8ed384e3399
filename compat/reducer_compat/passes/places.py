"""Parts of allocations that statements touch."""

from __future__ import annotations

from collections.abc import Hashable

#: An allocation, and the first and the last place in it that may be meant.
Place = tuple[Hashable, int, int]


def overlap(one: Place, other: Place) -> bool:
    """Whether two places may be the same."""
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]
