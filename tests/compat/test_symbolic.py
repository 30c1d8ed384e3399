"""A length that is known at launch alone, on a target whose pipelines copy in the background."""

from __future__ import annotations

import numpy as np
import pytest

from reducer_compat import simt
from tests.compat.share import dealt
from tests.kernels import symbolic


@pytest.mark.parametrize("stages", dealt([1, 2, 3, 4]))
def test_a_pipeline_of_symbolic_length_ends_right(stages: int) -> None:
    """Whose last turns wait for fewer and fewer copies."""
    a = np.random.default_rng(stages).integers(-9, 9, (10, 132)).astype(np.float32)
    got = simt.run(symbolic.tiles(stages, rows=10), a, out_idx=-1, target="sm_80")
    np.testing.assert_array_equal(got, a.sum(1))
