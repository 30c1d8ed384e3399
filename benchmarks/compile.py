"""How long lowering takes with the runtime, beside the same TileLang without it.

    python benchmarks/compile.py [--rounds 15] [--arch sm_80] [--acceptance]

Every kernel is traced and lowered in pairs, without and with the runtime, in turns of their
order; nvcc is left out, which is the same for both. Times are CPU times of the process, so that
other processes do not count. Kernels with reducers are in v1 syntax, which every release lowers
by itself; TileLang's own lowering of them is wrong on some releases, but it takes its time.

Prints the medians in milliseconds, the median of the pairs' ratios with its quartiles, and the
share of lowering that each pass of ours takes. `--acceptance` adds the share at the median of
the acceptance kernels (`tests/kernels`), of the whole runtime and of the count of contributions
in it; `--every 6` takes every sixth kernel. Exits with 1 where a ratio is above 1.10, or the share
of all passes above 5 %. Needs no GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("compat", "rules"))]

import tilelang
import tilelang.language as T

import reducer_compat
from reducer_compat import pipeline
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError

RATIO_LIMIT, SHARE_LIMIT = 1.10, 0.05
#: The passes that check what the others made: they name contributions and count them.
COUNTING = frozenset({"tag", "keep", "intend", "prove", "forget"})


def copy_and_scale() -> Any:
    """No reducer: a tiled copy through a fragment."""

    @T.prim_func
    def kernel(A: T.Tensor((256, 256), "float32"), B: T.Tensor((256, 256), "float32")):
        with T.Kernel(4, 4, threads=128) as (x, y):
            tile = T.alloc_fragment((64, 64), "float32")
            T.copy(A[x * 64, y * 64], tile)
            for i, j in T.Parallel(64, 64):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, B[x * 64, y * 64])

    return kernel


def smallest() -> Any:
    """No reducer: as little as a kernel can do."""

    @T.prim_func
    def kernel(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                B[i] = A[i]

    return kernel


def row_sum() -> Any:
    """A row sum over global memory."""

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


def through_fragment() -> Any:
    """A row maximum over a fragment."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((32, 64), "float32")
            acc = T.alloc_reducer((32,), "float32", op="max", replication="all")
            T.copy(A, tile)
            T.fill(acc, T.min_value("float32"))
            for i, j in T.Parallel(32, 64):
                acc[i] = T.max(acc[i], tile[i, j])
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


def pipelined_gemv() -> Any:
    """A matrix times a vector, streamed through shared memory."""

    @T.prim_func
    def kernel(
        A: T.Tensor((256, 1024), "float16"),
        x: T.Tensor((1024,), "float16"),
        y: T.Tensor((256,), "float32"),
    ):
        with T.Kernel(16, threads=128) as b:
            A_s = T.alloc_shared((16, 128), "float16")
            x_s = T.alloc_shared((128,), "float16")
            acc = T.alloc_reducer((16,), "float32", op="sum", replication="all")
            T.clear(acc)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[b * 16, k * 128], A_s)
                T.copy(x[k * 128], x_s)
                for i, j in T.Parallel(16, 128):
                    acc[i] += T.cast(A_s[i, j], "float32") * T.cast(x_s[j], "float32")
            T.finalize_reducer(acc)
            T.copy(acc, y[b * 16])

    return kernel


def single_value() -> Any:
    """The smallest reducer: one sum by one warp."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(32):
                acc[0] += A[i]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel


KERNELS = (smallest, copy_and_scale, single_value, row_sum, through_fragment, pipelined_gemv)


@dataclass(frozen=True)
class Pairs:
    """CPU seconds of one kernel without and with the runtime, round by round, after a warm-up."""

    without: list[float]
    with_us: list[float]

    @property
    def ratios(self) -> list[float]:
        return [b / a for a, b in zip(self.without, self.with_us, strict=True)]


class Passes:
    """CPU seconds inside the passes of the runtime, by name; of one inside another, its own."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inside = [0.0]

    @contextmanager
    def timed(self, only: frozenset[str] = frozenset()) -> Iterator[Counter[str]]:
        """Time every pass that the pipeline calls, or those of some names."""
        found = {
            name: value
            for name, value in vars(pipeline).items()
            if isinstance(value, FunctionType)
            and value.__module__.startswith("reducer_compat.passes.")
            and (name in only or not only)
        }
        for name, function in found.items():
            setattr(pipeline, name, self._around(name, function))
        try:
            yield self.seconds
        finally:
            for name, function in found.items():
                setattr(pipeline, name, function)

    def _around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            self._inside.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                took = time.thread_time() - start
                self.seconds[name] += took - self._inside.pop()
                self._inside[-1] += took

        return call


@contextmanager
def stages() -> Iterator[list[float]]:
    """CPU seconds of the runtime in each of the passes of TileLang that it is a part of.

    All that is not TileLang's own: a clock around each of our passes would be a part of it.
    """
    found: list[float] = []
    call = pipeline.SplicedPass.__call__

    def timed(self: Any, mod: Any) -> Any:
        theirs = 0.0

        def original(given: Any) -> Any:
            nonlocal theirs
            start = time.thread_time()
            try:
                return self._original(given)
            finally:
                theirs += time.thread_time() - start

        start = time.thread_time()
        try:
            return self._around(original, mod)
        finally:
            found.append(time.thread_time() - start - theirs)

    pipeline.SplicedPass.__call__ = timed  # type: ignore[method-assign]
    try:
        yield found
    finally:
        pipeline.SplicedPass.__call__ = call  # type: ignore[method-assign]


def seconds(build: Callable[[], Any], target: Any) -> float:
    """CPU time of tracing and lowering once, as a first call of a kernel does, without nvcc."""
    start = time.process_time()
    with target:
        tilelang.lower(build(), target=target)
    return time.process_time() - start


def measured(build: Callable[[], Any], target: Any, rounds: int) -> Pairs:
    """Pairs in turns of their order."""
    pairs = Pairs([], [])
    sides = [(reducer_compat.uninstall, pairs.without), (reducer_compat.install, pairs.with_us)]
    for turn in range(rounds + 1):
        for enter, times in sides[:: 1 if turn % 2 else -1]:
            enter()
            times.append(seconds(build, target))
    reducer_compat.install()
    return Pairs(pairs.without[1:], pairs.with_us[1:])


def shares(build: Callable[[], Any], target: Any, rounds: int) -> dict[str, float]:
    """The part of lowering that each pass of ours takes, without tracing; medians."""
    found: list[dict[str, float]] = []
    for _ in range(rounds):
        func = build()
        with Passes().timed() as inside:
            whole = seconds(lambda func=func: func, target)
        found.append({name: spent / whole for name, spent in inside.items()})
    names = sorted({name for one in found for name in one})
    return {name: statistics.median(one.get(name, 0.0) for one in found) for name in names}


def share(build: Callable[[], Any], target: Any, rounds: int) -> tuple[float, float]:
    """The part of lowering that the runtime takes, and that its count takes; medians."""
    found: list[tuple[float, float]] = []
    for _ in range(rounds):
        func = build()
        with stages() as ours, Passes().timed(COUNTING) as counting:
            whole = seconds(lambda func=func: func, target)
        found.append((sum(ours) / whole, sum(counting.values()) / whole))
    ours, counting = (statistics.median(side) for side in zip(*found, strict=True))
    return ours, counting


def compare(target: Any, rounds: int) -> float:
    """Print a line for each kernel; the largest ratio."""
    worst = 0.0
    for build in KERNELS:
        pairs = measured(build, target, rounds)
        low, middle, high = statistics.quantiles(pairs.ratios, n=4)
        worst = max(worst, middle)
        parts = shares(build, target, 5)
        shown = ", ".join(f"{name} {part:.1%}" for name, part in parts.items() if part >= 0.001)
        print(
            f"{adapter().release!s:7} {build.__name__:16} "
            f"without {statistics.median(pairs.without) * 1e3:7.1f} ms  "
            f"with {statistics.median(pairs.with_us) * 1e3:7.1f} ms  "
            f"{middle:5.2f}x ({low:.2f} to {high:.2f})  ours {sum(parts.values()):.1%}: {shown}",
            flush=True,
        )
    return worst


def acceptance(target: Any, every: int) -> float:
    """Print the medians over the acceptance kernels; that of all passes."""
    from tests.kernels import all_cases

    found: list[tuple[float, float]] = []
    for case in all_cases()[::every]:
        try:
            found.append(share(case.build, target, 3))
        except ReducerError:
            continue
    whole, counting = (statistics.median(side) for side in zip(*found, strict=True))
    print(
        f"{adapter().release!s:7} {len(found)} acceptance kernels, at the median of each: the "
        f"runtime takes {whole:.1%} of lowering, the count of contributions {counting:.1%} of it",
        flush=True,
    )
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--acceptance", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    target = adapter().target("cuda", options.arch)
    failed = compare(target, options.rounds) > RATIO_LIMIT
    if options.acceptance:
        failed = acceptance(target, options.every) > SHARE_LIMIT or failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
