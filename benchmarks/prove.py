"""Time the contribution counter: ``python benchmarks/prove.py``.

Lowers a row sum of a 128 x 128 tile on 1024 threads, and counts what TileLang was given and what
it made of it again and again, in every plan that the runtime can be made to choose. The numbers
are processor time for one count, which a busy machine does not stretch as it does the clock.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")
os.environ["REDUCER_COMPAT"] = "canonical"

THREADS, ROWS, COLUMNS = 1024, 128, 128


def row_sum(operand: str, tiles: int) -> Any:
    """A kernel that adds up the rows of `tiles` tiles, read from `operand` memory."""
    import tilelang.language as T

    import reducer_compat  # noqa: F401  # before the kernel is traced

    allocate = {"shared": T.alloc_shared, "fragment": T.alloc_fragment}[operand]

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS * tiles), "float32"), B: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=THREADS):
            tile = allocate((ROWS, COLUMNS), "float32")
            acc = T.alloc_reducer((ROWS,), "float32")
            result = T.alloc_fragment((ROWS,), "float32")
            T.reducer_init(acc)
            for k in T.serial(tiles):
                T.copy(A[0, k * COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def stages(kernel: Any) -> list[tuple[Any, str]]:
    """What can be counted of `kernel` while it is lowered: the function, and the stage."""
    import tilelang

    from reducer_compat import pipeline
    from reducer_compat.adapter import adapter
    from reducer_compat.passes.prove import intended

    found: list[tuple[Any, str]] = []
    original, forget = pipeline.prove, pipeline.forget

    def kept(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Any:
        found.extend([(intended(func), "planned"), (func, stage)])
        return original(func, stage, notes)

    target = adapter().target("cuda", "sm_80")
    try:
        pipeline.prove = kept
        pipeline.forget = lambda func: _stripped(func)
        with target:
            tilelang.lower(kernel, target=target)
    finally:
        pipeline.prove, pipeline.forget = original, forget
    return found


def _stripped(func: Any) -> Any:
    from reducer_compat.passes.prove import SOURCE
    from reducer_compat.passes.prove.tags import strip

    return strip(func).without_attr(SOURCE)


def milliseconds(func: Any, stage: str, times: int) -> float:
    """Processor time of one count, the fastest of `times`."""
    from reducer_compat.passes.prove import prove

    prove(func, stage)
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        assert prove(func, stage).counted
        best = min(best, time.process_time() - start)
    return best * 1000


def rows(times: int, tiles: int) -> Iterator[tuple[str, str, str, float]]:
    """Operand memory, plan, stage and milliseconds, for every combination."""
    import reducer_compat  # noqa: F401

    for operand in ("shared", "fragment"):
        for plan in ("chosen", "wide"):
            os.environ["REDUCER_COMPAT_PLAN"] = "wide" if plan == "wide" else ""
            for func, stage in stages(row_sum(operand, tiles)):
                yield operand, plan, stage, milliseconds(func, stage, times)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=10)
    options.add_argument("--tiles", type=int, default=1)
    chosen = options.parse_args()
    for operand, plan, stage, took in rows(chosen.times, chosen.tiles):
        print(f"{operand:10}{plan:8}{stage:9}{took:6.1f} ms")


if __name__ == "__main__":
    main()
