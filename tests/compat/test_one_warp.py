"""One output of one warp: the shuffles leave it in every lane, and nothing goes through memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from tests.compat.lowering import body, source
from tests.compat.share import dealt

SIZE = 80
IDENTITY = None


def reduction(op: str, dtype: str, threads: int, seed: Any, scope: str) -> Any:
    allocate = T.alloc_shared if scope == "shared" else T.alloc_fragment

    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), dtype), B: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), dtype, op=op)
            out = allocate((1,), dtype)
            T.reducer_init(acc, seed)
            for i in T.Parallel(SIZE):
                T.reducer_update(acc[0], A[i])
            T.finalize_reducer(acc, out)
            T.copy(out, B)

    return kernel


def values(dtype: str) -> Any:
    return (np.arange(SIZE) % 7 - 3).astype(dtype)


DTYPES = {"sum": "float32", "max": "int32", "bitxor": "int32"}
REDUCE: dict[str, Any] = {"sum": np.sum, "max": np.max, "bitxor": np.bitwise_xor.reduce}


@pytest.mark.parametrize(
    ("threads", "op", "seed", "scope"),
    dealt((1, 32, 64), DTYPES, (IDENTITY, 2), ("fragment", "shared")),
    ids=str,
)
def test_the_number_is_right(threads: int, op: str, seed: Any, scope: str) -> None:
    dtype = DTYPES[op]
    a = values(dtype)
    seeds = [] if seed is IDENTITY else [np.asarray([seed], dtype)]
    got = simt.run(reduction(op, dtype, threads, seed, scope), a)
    assert got.tolist() == [REDUCE[op](np.concatenate([a, *seeds]))]


def test_no_memory_and_no_barrier_for_one_warp() -> None:
    text = body(source(reduction("sum", "float32", 32, IDENTITY, "fragment")))
    assert "AllReduce<tl::SumOp, 32, 1, 0>" in text
    assert "__shared__" not in text
    assert "__syncthreads" not in text


def test_a_clear_of_a_sum_is_no_seed() -> None:
    """v1 opens with a clear: the value it stores is the identity, which needs no place."""

    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(SIZE):
                acc[0] += A[i]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    a = values("float32")
    assert simt.run(kernel, a).tolist() == [a.sum()]
    assert "seed" not in source(kernel)
