"""A plain row sum is right for every pair of thread count and tile.

Each release runs its share, so that the release matrix covers all of them;
`REDUCER_COMPAT_PAIRS=all` runs all on the release at hand.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from reducer_compat.adapter import adapter
from reducer_rules.release import TESTED
from tests.compat.lowering import run, wanted
from tests.kernels import Case
from tests.kernels.tiles import THREADS, TILES, every_pair


def share() -> list[Case]:
    pairs = every_pair()
    if os.environ.get("REDUCER_COMPAT_PAIRS") == "all":
        return pairs
    return pairs[TESTED.index(adapter().release) :: len(TESTED)]


@pytest.mark.parametrize("case", share(), ids=lambda case: case.name)
def test_a_row_sum_is_right(case: Case) -> None:
    np.testing.assert_array_equal(run(case), wanted(case))


def test_there_are_as_many_pairs_as_the_product() -> None:
    assert len({case.name for case in every_pair()}) == len(THREADS) * len(TILES) == 110
