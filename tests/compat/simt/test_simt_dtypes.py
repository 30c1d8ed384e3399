"""Conversions round as the device does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from reducer_compat import simt
from reducer_compat.simt.dtypes import cast, parse, poison
from reducer_compat.simt.report import UnsupportedError

from . import kernels as k

FP8 = {"float8_e4m3": ml_dtypes.float8_e4m3fn}


def numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(FP8.get(name) or getattr(ml_dtypes, name, None) or name)


PAIRS = [
    ("float32", "float16"),
    ("float32", "bfloat16"),
    ("float32", k.FP8),
    ("float32", "float8_e5m2"),
    ("float16", "float32"),
    ("bfloat16", "float32"),
    (k.FP8, "float32"),
    ("float8_e5m2", "float16"),
    ("float32", "int32"),
    ("float16", "int8"),
    ("int32", "float16"),
    ("int64", "float32"),
    ("uint8", "float32"),
    ("int32", "uint8"),
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_conversions_in_a_kernel(source: str, target: str) -> None:
    numbers = np.random.default_rng(3).uniform(-100, 100, 128)
    a = np.abs(numbers).astype(source) if source[0] == "u" else None
    a = numbers.astype("float32").astype(numpy_dtype(source)) if a is None else a
    got = simt.run(k.converted(source, target), a)
    assert got.dtype == numpy_dtype(target)
    np.testing.assert_array_equal(got, a.astype(numpy_dtype(target)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_add_with_one_rounding(dtype: str) -> None:
    rng = np.random.default_rng(5)
    a, c = (rng.standard_normal(256).astype(numpy_dtype(dtype)) for _ in range(2))
    got = simt.run(k.elementwise(lambda x, y: x + y, dtype), a, c)
    want = (a.astype("float64") + c.astype("float64")).astype(numpy_dtype(dtype))
    np.testing.assert_array_equal(got, want)


def test_rounding_is_to_the_nearest_even_as_in_torch() -> None:
    torch = pytest.importorskip("torch", reason="the reference of this test is torch")
    bits = np.random.default_rng(1).integers(0, 1 << 32, 4096, dtype=np.uint32)
    wide = bits.view(np.float32)
    for name in ("float16", "bfloat16"):
        got = cast(wide, numpy_dtype(name)).view(np.uint16)
        want = torch.from_numpy(wide).to(getattr(torch, name)).view(torch.int16).numpy()
        nan = np.isnan(wide)
        np.testing.assert_array_equal(got[~nan], want.view(np.uint16)[~nan])


@pytest.mark.parametrize(("name", "top"), [("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0)])
def test_float8_saturates(name: str, top: float) -> None:
    got = cast(np.array([1e9, -1e9, np.inf, 1.0], "float32"), numpy_dtype(name))
    assert got.astype("float32").tolist() == [top, -top, top, 1.0]


def test_floats_truncate_and_saturate_into_integers() -> None:
    a = np.array([2.9, -2.9, 3e9, -3e9, np.nan, np.inf], "float32")
    assert cast(a, np.dtype("int32")).tolist() == [2, -2, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert cast(a[:4], np.dtype("uint32")).tolist() == [2, 0, 3000000000, 0]
    assert cast(np.float32(300.7), np.dtype("int8")) == np.int8(44)


def test_integers_wrap_and_bools_are_tests_for_zero() -> None:
    assert cast(np.int32(300), np.dtype("uint8")) == 44
    assert cast(np.array([0.0, 0.5, np.nan]), np.dtype("bool")).tolist() == [False, True, True]


def test_vector_dtypes() -> None:
    assert (parse("float16x8").numpy, parse("float16x8").lanes) == (np.dtype("float16"), 8)
    assert (parse("float8_e4m3fnx4").numpy.itemsize, parse("float8_e4m3fnx4").lanes) == (1, 4)


@pytest.mark.parametrize("name", ["int4", "float4_e2m1fn", "handle", "custom[x]32"])
def test_unknown_dtypes_are_named(name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(name)
    assert caught.value.what == f"dtype {name}"


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float8_e4m3fn"])
def test_unwritten_floats_read_as_nan(name: str) -> None:
    assert np.isnan(poison(numpy_dtype(name)).astype("float32"))
