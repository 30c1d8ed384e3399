"""Lower and run kernels, as a user would, without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import tilelang

import reducer_compat  # noqa: F401
from reducer_compat import simt
from reducer_compat.adapter import adapter
from tests.kernels import Case


def source(func: Any, arch: str = "sm_80", kind: str = "cuda") -> str:
    """The device source TileLang generates for `func`."""
    target = adapter().target(kind, arch)
    with target:
        return str(tilelang.lower(func, target=target).kernel_source)


def body(text: str) -> str:
    """The kernel in a device source, without the prelude."""
    return text[text.rindex('extern "C"') :]


def run(case: Case, func: Any = None, **options: Any) -> np.ndarray:
    """The result of a case in the interpreter: integers as they are, all else as float64.

    `func` is its kernel, where that has been traced before.
    """
    func = case.build() if func is None else func
    return _exact(np.asarray(simt.run(func, *case.arguments(), out_idx=-1, **options)))


def compiled(func: Any, *arrays: Any, arch: str = "sm_80") -> tuple[str, np.ndarray]:
    """The device source of a kernel and its output, from one lowering."""
    lowered = simt.lower(func, arch)
    result = simt.execute_lowered(lowered, *arrays)
    assert result.report.ok, str(result.report)
    return lowered.text, result.outputs[0]


def wanted(case: Case) -> np.ndarray:
    return _exact(case.reference(case.arguments())).reshape(case.output[0])


def _exact(array: np.ndarray) -> np.ndarray:
    """Float64 does not hold every integer of 64 bits."""
    return array if array.dtype.kind in "iu" else array.astype(np.float64)
