"""Time GEMV and row sums with tensor copies by specialized warps, and with copies by all threads.

    python benchmarks/transfers.py [--pairs 20] [--only 8x96,16x128]

One line a tile: microseconds of both, the ratio of the second to the first (median of alternating
pairs, quartiles in brackets), the bytes that tensor copies have on their way to a multiprocessor,
and what `reducer_compat` chooses; `passes/transfers.py` has its constants from here. Needs an H200.
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

os.environ["REDUCER_COMPAT"] = "canonical"

import tilelang
import torch
from kernel_bench import shipped
from kernel_bench.cases import NO_WS
from kernel_bench.worker import Loaded, repeatable, timed

import reducer_compat
from reducer_compat import pipeline
from reducer_compat.passes import transfers

ROWS, COLUMNS = 16384, 8192
TILES = (
    (4, 128),
    (8, 64),
    (8, 96),
    (8, 128),
    (8, 256),
    (16, 64),
    (16, 128),
    (32, 8),
)
KERNELS = {
    "gemv_shared": shipped.gemv_shared,
    "gemv_fragment": shipped.gemv_fragment,
    "row_sum_shared": shipped.row_sum_shared,
}


def sizes(tile: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the matrix, whole tiles of it."""
    return ROWS // tile[0] * tile[0], COLUMNS // tile[1] * tile[1]


def loaded(kernel: str, tile: tuple[int, int], config: dict[str, Any]) -> Loaded:
    """A kernel that was compiled with a config, compared with torch, and is ready to be timed."""
    rows, columns = (
        whole // part * part for whole, part in zip((ROWS, COLUMNS), tile, strict=True)
    )
    generator = torch.Generator("cuda").manual_seed(rows + columns)
    a = torch.randn((rows, columns), generator=generator, device="cuda").half()
    x = torch.randn((columns,), generator=generator, device="cuda").half()
    y = torch.empty((rows,), device="cuda")
    given = (a, y) if kernel == "row_sum_shared" else (a, x, y)
    wanted = a.double().sum(1) if kernel == "row_sum_shared" else a.double() @ x.double()
    func = KERNELS[kernel](rows, columns, *tile, 128, "float16")
    compiled = tilelang.compile(func, pass_configs=config)
    compiled(*given)
    assert (y.double() - wanted).abs().max() < 1e-3 * wanted.abs().max(), "wrong numbers"
    return repeatable(lambda: compiled(*given))


def chosen(kernel: str, tile: tuple[int, int]) -> str:
    """What the runtime says of the kernel as it stands."""
    before = len(reducer_compat.status().descents)
    rows, columns = (
        whole // part * part for whole, part in zip((ROWS, COLUMNS), tile, strict=True)
    )
    func = KERNELS[kernel](rows, columns, *tile, 128, "float16")
    with tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_90"}) as target:
        tilelang.lower(func, target=target)
    return "; ".join(d.note for d in reducer_compat.status().descents[before:]) or "tensor copies"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--only", default="", help="words; kernels whose name has one")
    options = parser.parse_args()
    tilelang.disable_cache()
    refuse = transfers.refuse_small
    for kernel in KERNELS:
        for tile in TILES:
            name = f"{kernel} {tile[0]}x{tile[1]}"
            if not any(word in name for word in options.only.split(",")):
                continue
            choice = chosen(kernel, tile)
            pipeline.refuse_small = lambda *given: None
            try:
                sides = [loaded(kernel, tile, config) for config in ({}, NO_WS)]
            except Exception as error:
                print(f"{name:24} {str(error).strip().splitlines()[-1][:120]}", flush=True)
                continue
            finally:
                pipeline.refuse_small = refuse
            times = [[timed(side) for side in sides] for _ in range(options.pairs)]
            low, middle, high = statistics.quantiles([b / a for a, b in times], n=4)
            tma, plain = (statistics.median(side) for side in zip(*times, strict=True))
            ratio = f"{middle:.3f} [{low:.3f}, {high:.3f}]"
            print(f"{name:24} {tma:7.1f} {plain:7.1f}  {ratio}  {choice}", flush=True)


if __name__ == "__main__":
    main()
