"""No arm of a branch is lost when a condition is taken out of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt

ROWS = 3
GIVEN = np.where(np.arange(64) % 3 == 0, 1.0, -1.0).astype(np.float32)


def branches(shape: str, source: str) -> Any:
    """Sums of three turns, with a condition on the turn inside one on the data, or around it."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=32):
            held = (
                T.alloc_shared((64,), "float32")
                if source == "shared"
                else T.alloc_fragment((64,), "float32")
            )
            acc = T.alloc_reducer((ROWS,), "float32")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            T.copy(A, held)
            for t in T.serial(ROWS):
                for i in T.Parallel(64):
                    if shape == "first arm":
                        if held[i] > 0:
                            if t == 0:
                                T.reducer_update(acc[t], 1)
                        else:
                            T.reducer_update(acc[t], 100)
                    elif shape == "second arm":
                        if held[i] <= 0:
                            T.reducer_update(acc[t], 100)
                        else:
                            if t == 0:
                                T.reducer_update(acc[t], 1)
                    else:
                        if t == 0:
                            T.reducer_update(acc[t], 1)
                        if held[i] <= 0:
                            T.reducer_update(acc[t], 100)
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


@pytest.mark.parametrize("source", ["shared", "fragment"])
@pytest.mark.parametrize("shape", ["first arm", "second arm"])
def test_an_else_around_a_condition_that_does_not_change_in_the_loop(
    shape: str, source: str
) -> None:
    """TVM hoists `t == 0`, and the other arm went with it for every other turn."""
    positive, rest = int((GIVEN > 0).sum()), int((GIVEN <= 0).sum())
    got = simt.run(branches(shape, source), GIVEN)
    assert got.tolist() == [positive + 100 * rest, 100 * rest, 100 * rest]


def test_branches_beside_each_other() -> None:
    got = simt.run(branches("beside", "shared"), GIVEN)
    rest = int((GIVEN <= 0).sum())
    assert got.tolist() == [64 + 100 * rest, 100 * rest, 100 * rest]
