"""Run every acceptance kernel on a GPU against numpy, and print a table.

    python benchmarks/gpu_acceptance.py [--only TEXT] [--pairs] [--no-warp-specialization] [-j N]

Needs a CUDA GPU, torch, and one tested TileLang. Compiling takes nearly all of the time, and N
processes share it. Kernels run under TileLang's default configuration unless told otherwise, so
on Hopper the pipelined ones are warp-specialized. Exits with 1 on a mismatch or an error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "compat"), str(ROOT / "rules")]

import numpy as np  # noqa: E402
import tilelang  # noqa: E402
import torch  # noqa: E402

import reducer_compat  # noqa: E402
from tests.kernels import Case, all_cases  # noqa: E402
from tests.kernels.tiles import every_pair  # noqa: E402


def to_torch(array: Any) -> torch.Tensor:
    """An array on the GPU; bfloat16, which numpy lacks, goes through float32."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.astype("float32")).to("cuda", torch.bfloat16)
    return torch.from_numpy(array).to("cuda")


def run(case: Case, configs: dict[str, Any]) -> str:
    """An empty string where the kernel agrees with its reference, else what is wrong."""
    arrays = case.arguments()
    kernel = tilelang.compile(case.build(), out_idx=-1, pass_configs=configs)
    out = kernel(*map(to_torch, arrays))
    # Float64 does not hold every integer of 64 bits.
    got = (out.to(torch.float64) if out.is_floating_point() else out).cpu().numpy()
    wanted = case.reference(arrays).astype(got.dtype).reshape(got.shape)
    wrong = np.flatnonzero(got != wanted)
    if not len(wrong):
        return ""
    first = int(wrong[0])
    return (
        f"{len(wrong)} of {got.size} differ; [{first}] is {got.flat[first]}, "
        f"not {wanted.flat[first]}"
    )


@cache
def by_name() -> dict[str, Case]:
    return {case.name: case for case in [*all_cases(), *every_pair()]}


def outcome(name: str, configs: dict[str, Any]) -> tuple[str, str]:
    """The name, and what `run` says of the kernel, an error included."""
    try:
        return name, run(by_name()[name], configs)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return name, f"{type(error).__name__}: {lines[0][:300]}"


def results(names: list[str], configs: dict[str, Any], jobs: int) -> Iterator[tuple[str, str]]:
    judge = partial(outcome, configs=configs)
    if jobs == 1:
        yield from map(judge, names)
        return
    # A kernel that faults takes the GPU away from the rest of its process: few share one.
    with get_context("spawn").Pool(jobs, maxtasksperchild=4) as pool:
        yield from pool.imap(judge, names, chunksize=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="kernels whose name holds this text")
    parser.add_argument("--pairs", action="store_true", help="all 110 pairs of threads and tile")
    parser.add_argument("--no-warp-specialization", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes that compile and run")
    options = parser.parse_args()
    configs = {"tl.disable_warp_specialized": True} if options.no_warp_specialization else {}
    cases = [*all_cases(), *(every_pair() if options.pairs else [])]
    chosen = [case.name for case in cases if options.only in case.name]
    state = reducer_compat.status()
    print(f"TileLang {state.release}, mode {state.mode}, {torch.cuda.get_device_name()}")
    failed = 0
    for name, problem in results(chosen, configs, options.jobs):
        if problem:
            failed += 1
            print(f"  {name:32} {problem}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
