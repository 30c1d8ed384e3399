"""A plain row sum is right for every pair of thread count and tile.

Each release runs its share.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.compat.lowering import run, wanted
from tests.compat.share import share
from tests.kernels import Case
from tests.kernels.tiles import THREADS, TILES, every_pair


@pytest.mark.parametrize("case", share(every_pair()), ids=lambda case: case.name)
def test_a_row_sum_is_right(case: Case) -> None:
    np.testing.assert_array_equal(run(case), wanted(case))


def test_there_are_as_many_pairs_as_the_product() -> None:
    assert len({case.name for case in every_pair()}) == len(THREADS) * len(TILES) == 110
