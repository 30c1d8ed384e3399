"""v1 stores whose chain of one operator has a conversion inside: Python's integers are 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import ReducerError, simt
from tests.compat.share import dealt

#: What is stored, and what is contributed by `value`.
SUMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[int], int]]] = {
    "acc + a + 1": (lambda acc, a: acc + a + 1, lambda a: a + 1),
    "acc - a + 3": (lambda acc, a: acc - a + 3, lambda a: 3 - a),
    "acc + a - 1 + 2": (lambda acc, a: acc + a - 1 + 2, lambda a: a + 1),
    "1 + (a + acc) + a": (lambda acc, a: 1 + (a + acc) + a, lambda a: 2 * a + 1),
}


def summing(store: Callable[[Any, Any], Any], dtype: str) -> Any:
    """The total of a chain over 64 numbers."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), B: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), dtype, "sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(64):
                acc[0] = store(acc[0], A[i])
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


@pytest.mark.parametrize(
    ("spelling", "dtype"),
    dealt(SUMS, ("int8", "uint8", "int16", "uint16", "int32", "float32")),
)
def test_a_chain_of_sums(spelling: str, dtype: str) -> None:
    store, contribution = SUMS[spelling]
    given = (np.arange(64) % 3).astype(dtype)
    wanted = np.array([sum(contribution(int(value)) for value in given)])
    got = simt.run(summing(store, dtype), given)
    assert got.tolist() == wanted.astype(dtype).tolist()


def test_a_conversion_that_loses_something_is_no_part_of_a_chain() -> None:
    kept = summing(lambda acc, a: (acc + a).astype("int8") + a, "int16")
    with pytest.raises(ReducerError, match="RM202"):
        simt.run(kept, np.ones(64, np.int16))
