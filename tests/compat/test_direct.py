"""Totals go straight to memory where one warp has all of an output: no exchange, no barrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from tests.compat.lowering import body, compiled, source
from tests.compat.share import dealt

TILES = ((16, 64), (8, 256), (100, 8), (5, 24), (128, 4), (33, 16))
THREADS = (32, 96, 128)


@pytest.fixture(autouse=True)
def canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


def rows(tile: tuple[int, int], threads: int, scope: str, seed: Any = None) -> Any:
    """Sums of the rows of two tiles into a buffer of some scope."""
    bm, bn = tile
    allocate = T.alloc_fragment if scope == "fragment" else T.alloc_shared

    @T.prim_func
    def through(A: T.Tensor((2, bm, bn), "float32"), B: T.Tensor((2, bm), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((bm,), "float32")
            out = allocate((bm,), "float32")
            for e in T.serial(2):
                T.reducer_init(acc, seed)
                for i, j in T.Parallel(bm, bn):
                    T.reducer_update(acc[i], A[e, i, j])
                T.finalize_reducer(acc, out)
                if scope == "fragment":
                    T.copy(out, B[e, 0])
                else:
                    for i in T.serial(bm):
                        B[e, i] = out[i]

    @T.prim_func
    def straight(A: T.Tensor((2, bm, bn), "float32"), B: T.Tensor((2, bm), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((2, bm), "float32")
            T.reducer_init(acc, seed)
            for e, i, j in T.Parallel(2, bm, bn):
                T.reducer_update(acc[e, i], A[e, i, j])
            T.finalize_reducer(acc, B)

    return straight if scope == "global" else through


@pytest.mark.parametrize(
    ("tile", "threads", "scope", "seed"),
    dealt(TILES, THREADS, ("shared", "global"), (None, 3)),
    ids=str,
)
def test_the_numbers_are_right(tile: tuple[int, int], threads: int, scope: str, seed: Any) -> None:
    a = np.random.default_rng(0).integers(-4, 5, (2, *tile)).astype(np.float32)
    got = simt.run(rows(tile, threads, scope, seed), a)
    np.testing.assert_array_equal(got, a.sum(2) + (seed or 0))


@pytest.mark.parametrize("scope", ["shared", "global"])
def test_nothing_is_exchanged_and_the_turn_needs_no_barrier(scope: str) -> None:
    text = body(source(rows((16, 64), 128, scope)))
    assert "acc_exchange" not in text
    exchanged = body(source(rows((16, 64), 128, "fragment")))
    assert "acc_exchange" in exchanged
    assert text.count("__syncthreads") < exchanged.count("__syncthreads") + (scope == "shared")


def pipelined(scope: str) -> Any:
    """Products of rows and a vector, through stages of shared memory."""

    @T.prim_func
    def main(
        A: T.Tensor((16, 512), "float16"),
        x: T.Tensor((512,), "float16"),
        y: T.Tensor((16,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((16, 128), "float16")
            x_s = T.alloc_shared((128,), "float16")
            acc = T.alloc_reducer((16,), "float32")
            out = T.alloc_shared((16,), "float32")
            T.reducer_init(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 128], A_s)
                T.copy(x[k * 128], x_s)
                for i, j in T.Parallel(16, 128):
                    T.reducer_update(acc[i], A_s[i, j].astype("float32") * x_s[j].astype("float32"))
            if scope == "shared":
                T.finalize_reducer(acc, out)
                T.copy(out, y)
            else:
                T.finalize_reducer(acc, y)

    return main


@pytest.mark.parametrize("scope", ["shared", "global"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_consumers_alone_deliver(arch: str, scope: str) -> None:
    rng = np.random.default_rng(1)
    a, x = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((16, 512), (512,)))
    kernel = pipelined(scope)
    text, got = compiled(kernel, a, x, arch=arch)
    assert "acc_exchange" not in body(text)
    np.testing.assert_array_equal(got, a.astype(np.float32) @ x.astype(np.float32))
