"""`--gpu` without a GPU: torch runs on the CPU, and what TileLang compiles is a stand-in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run
from verify_cases import SUM_OF_EIGHT

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("tilelang", reason="tilelang is not installed")
pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")

#: Kernels that compute with torch; the one that is named `faulty` ends what CUDA can do.
STAND_IN = """
import tilelang.cache
import torch


class Lost:
    fault = False


def launched(func, **_):
    def kernel(A, B):
        Lost.fault = Lost.fault or func.attrs["global_symbol"] == "faulty"
        synchronize()
        B.copy_(A.sum().reshape(1))

    return kernel


def synchronize():
    if Lost.fault:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


tilelang.cache.cached = launched
torch.cuda.is_available = lambda: True
torch.cuda.synchronize = synchronize
torch.Tensor.cuda = lambda tensor: tensor
"""
DTYPES = (
    *("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32"),
    *("float64", "float8_e4m3", "float8_e4m3fn", "float8_e5m2"),
)


def test_a_fault_costs_no_other_kernel(tmp_path: Path) -> None:
    faulty = SUM_OF_EIGHT.replace("def total", "def faulty").split("\n\n\n")[1]
    file = tmp_path / "sums.py"
    file.write_text(
        f"{STAND_IN}\n\n{SUM_OF_EIGHT.split(chr(10))[0]}\n\n\n{faulty}\n\n{SUM_OF_EIGHT}"
    )
    done = run(tmp_path, "sums.py", "--gpu", "--output-format", "json")
    found = {kernel["kernel"]: kernel for kernel in json.loads(done.out)["kernels"]}
    assert found["faulty"]["verdict"] == "not-run"
    assert "an illegal memory access" in found["faulty"]["reason"]
    assert found["total"]["verdict"] == "right", found["total"]["reason"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_holds_the_values_of_its_array(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reducer_compat.verify import inputs, running

    def here(tensor: Any) -> Any:
        return tensor

    monkeypatch.setattr(torch.Tensor, "cuda", here)
    for variant in inputs.VARIANTS:
        parameter = inputs.Parameter("A", dtype, (3, 5), False, False)
        array = inputs.values(parameter, 0, variant, {})
        tensor = running._tensor(array, dtype)
        assert tuple(tensor.shape) == (3, 5)
        assert tensor.element_size() == array.dtype.itemsize
        back = running._array(tensor)
        np.testing.assert_array_equal(back.astype(np.float64), array.astype(np.float64))
