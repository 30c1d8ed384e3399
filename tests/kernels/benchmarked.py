"""The kernels of the benchmark, at sizes that the interpreter runs in moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernel_bench import shipped
from tests.kernels.case import Case, integers


def _matvec(kernel: str, bm: int, bk: int, threads: int, dtype: str = "float16") -> Case:
    m, k = 2 * bm, 3 * bk
    sixteen = kernel == "gemv_16bit"
    return _case(
        f"{kernel}_{bm}x{bk}_{threads}_{dtype}",
        lambda: getattr(shipped, kernel)(m, k, bm, bk, threads, dtype),
        integers((m, k), (k,), low=-1, high=2, dtype=dtype),
        lambda a, x: a @ x,
        ((m,), dtype if sixteen else "float32"),
    )


def _rows(kernel: str, bm: int, bn: int, threads: int, dtype: str) -> Case:
    m, n = 2 * bm, 3 * bn
    is_max = kernel.startswith("row_max")
    return _case(
        f"{kernel}_{bm}x{bn}_{threads}_{dtype}",
        lambda: getattr(shipped, kernel)(m, n, bm, bn, threads, dtype),
        integers((m, n), dtype=dtype),
        lambda a: np.asarray(a.max(1) if is_max else a.sum(1)),
        ((m,), dtype if is_max else "float32"),
    )


def _case(
    name: str,
    build: Callable[[], Any],
    inputs: Callable[[np.random.Generator], Any],
    expected: Callable[..., np.ndarray],
    output: tuple[tuple[int, ...], str],
) -> Case:
    return Case(f"bench_{name}", "kernels of the benchmark", build, inputs, expected, output)


def cases() -> list[Case]:
    return [
        *(
            _matvec(kernel, *tile, 128)
            for kernel in ("gemv_shared", "gemv_fragment")
            for tile in ((64, 128), (32, 8))
        ),
        _matvec("gemv_shared", 16, 128, 96),
        _matvec("gemv_shared", 8, 96, 128, "bfloat16"),
        _matvec("gemv_16bit", 16, 128, 128),
        _rows("row_sum_global", 8, 128, 128, "float16"),
        _rows("row_sum_global", 3, 100, 96, "float32"),
        _rows("row_sum_shared", 16, 256, 128, "float16"),
        _rows("row_max_shared", 16, 64, 128, "bfloat16"),
        _rows("row_max_shared", 5, 56, 160, "float16"),
        _case(
            "rmsnorm_backward",
            lambda: shipped.rmsnorm_backward(64, 256, 2, 16, 128, 128, "float16"),
            _gradients,
            lambda x, dy, r: (x * dy * r[:, None]).reshape(2, 32, 256).sum(1),
            ((2, 256), "float32"),
        ),
        _case(
            "absmax_scale",
            lambda: shipped.absmax_scale(64, 128, 32, 128, "float16"),
            integers((64, 128), dtype="float16"),
            lambda x: (np.abs(x).max(1).astype(np.float32) / np.float32(127)).astype(np.float64),
            ((64,), "float32"),
        ),
        _case(
            "smallest",
            lambda: shipped.smallest(3, 512, 3, 128),
            lambda rng: (rng.permuted(np.arange(1536, dtype=np.float32)).reshape(3, 512),),
            lambda x: np.sort(x, 1)[:, :3],
            ((3, 3), "float32"),
        ),
        _case(
            "outer_product",
            lambda: shipped.outer_product(2, 256, 128, 128),
            integers((512, 4), (512, 4)),
            lambda a, b: np.einsum("nki,nkj->nij", a.reshape(2, -1, 4), b.reshape(2, -1, 4)),
            ((2, 4, 4), "float32"),
        ),
        _case(
            "two_widths",
            lambda: shipped.two_widths(128, 64, 128),
            integers((128, 8), (128, 16)),
            lambda a, b: a.sum(1) + b.sum(1),
            ((128,), "float32"),
        ),
        _case(
            "block_sum",
            lambda: shipped.block_sum(3, 1024, 256),
            integers((3, 1024)),
            lambda a: np.asarray(a.sum(1)),
            ((3,), "float32"),
        ),
    ]


def _gradients(rng: np.random.Generator) -> Any:
    x, dy, r = (rng.integers(-2, 3, shape) for shape in ((64, 256), (64, 256), (64,)))
    return x.astype(np.float16), dy.astype(np.float16), r.astype(np.float32)
