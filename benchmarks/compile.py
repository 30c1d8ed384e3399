"""How long lowering takes with the runtime, beside the same TileLang without it.

    python benchmarks/compile.py [--rounds 9] [--arch sm_80]

Lowers one kernel without reducers and, where TileLang has v2 reducers itself (from 0.1.14), one
with: rounds alternate between the two, so that a busy moment of the machine meets both. On
older releases the counterpart of the reducer kernel is the v1 kernel as TileLang lowers it.
Prints medians in milliseconds and their ratio; the exit code is 1 above the limit. Needs no GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("compat", "rules")]

import tilelang
import tilelang.language as T

import reducer_compat
from reducer_compat.adapter import adapter

LIMIT = 1.10


def plain() -> Any:
    """A tiled copy through a fragment, no reducer."""

    @T.prim_func
    def kernel(A: T.Tensor((256, 256), "float32"), B: T.Tensor((256, 256), "float32")):
        with T.Kernel(4, 4, threads=128) as (x, y):
            tile = T.alloc_fragment((64, 64), "float32")
            T.copy(A[x * 64, y * 64], tile)
            for i, j in T.Parallel(64, 64):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, B[x * 64, y * 64])

    return kernel


def reducing() -> Any:
    """A row sum in v1 syntax, which every release lowers by itself."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((64,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(64, 128):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def seconds(build: Callable[[], Any], target: Any) -> float:
    """Tracing and lowering once, as a first call of a kernel does, without nvcc."""
    start = time.perf_counter()
    with target:
        tilelang.lower(build(), target=target)
    return time.perf_counter() - start


def measured(build: Callable[[], Any], target: Any, rounds: int) -> tuple[float, float]:
    """Medians in seconds, (without, with)."""
    without: list[float] = []
    with_us: list[float] = []
    for _ in range(rounds + 1):
        reducer_compat.uninstall()
        without.append(seconds(build, target))
        reducer_compat.install()
        with_us.append(seconds(build, target))
    return statistics.median(without[1:]), statistics.median(with_us[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--arch", default="sm_80")
    options = parser.parse_args()
    target = adapter().target("cuda", options.arch)
    worst = 0.0
    for build in (plain, reducing):
        without, with_us = measured(build, target, options.rounds)
        worst = max(worst, with_us / without)
        print(
            f"{adapter().release!s:7} {build.__name__:9} without {without * 1e3:7.1f} ms  "
            f"with {with_us * 1e3:7.1f} ms  {with_us / without:5.2f}x",
            flush=True,
        )
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
