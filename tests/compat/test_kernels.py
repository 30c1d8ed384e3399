"""Every acceptance kernel gives the number numpy gives, on whatever TileLang is installed.

The contribution counter accepts each, before and after lowering.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from reducer_compat import ReducerError
from reducer_compat.adapter import adapter
from reducer_compat.simt.lowering import default_arch, installed
from tests.compat.counted import assert_counted, counting
from tests.compat.lowering import run, wanted
from tests.kernels import Case, all_cases

CASES = all_cases()
#: Kernels that TileLang cannot lay out on some releases, with or without reducers: copies of 300
#: or 16 elements by 96 threads or of 5 by 160, and a fragment of 96 read by 128 threads.
BEYOND_TILELANG = {
    "row_sum_3x100_96_shared": ("0.1.8", "0.1.9", "0.1.10"),
    "gemv_8x96_128_2_fragment": ("0.1.8", "0.1.9", "0.1.10"),
    "bench_gemv_shared_16x128_96_float16": ("0.1.8", "0.1.9", "0.1.10"),
    "bench_row_max_shared_5x56_160_float16": ("0.1.8", "0.1.9", "0.1.10"),
}


def ids(case: Case) -> str:
    return case.name


def supported(case: Case) -> bool:
    return str(adapter().release) not in BEYOND_TILELANG.get(case.name, ())


def targets(kernel: Any) -> Iterable[str]:
    """The plainest, and for a pipeline those that change how it copies.

    In the background, or with warps of their own.
    """
    _, _, tir = installed()
    copying = ("sm_80", "sm_90") if "num_stages" in kernel.script() else ()
    return dict.fromkeys((default_arch(tir, kernel), *copying))


@pytest.mark.parametrize("case", [case for case in CASES if supported(case)], ids=ids)
def test_a_kernel_is_right(case: Case) -> None:
    kernel = case.build()
    for target in targets(kernel):
        with counting() as verdicts:
            got = run(case, kernel, target=target, starve=True)
        np.testing.assert_array_equal(got, wanted(case), err_msg=f"on {target}")
        assert_counted(verdicts)


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_what_tilelang_cannot_lay_out_is_said() -> None:
    """Said with its threads where TileLang fails, and never wrong where it does not."""
    refusals: list[ReducerError] = []
    for case in CASES:
        if supported(case):
            continue
        try:
            got = run(case)
        except ReducerError as error:
            refusals.append(error)
        else:
            np.testing.assert_array_equal(got, wanted(case))
    for refusal in refusals:
        assert refusal.code == "RC003"
        assert "TileLang cannot lay out" in refusal.message
        assert "threads" in refusal.message
