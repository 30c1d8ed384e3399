"""TIR dtypes as numpy dtypes: width, lanes, identities and the conversions that the device does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .report import UnsupportedError

Array = npt.NDArray[Any]
"""A numpy array of any dtype: one value a lane, or one row of vector elements a lane."""

_PLAIN = {
    "bool": np.dtype(np.bool_),
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
}
_PLAIN |= {f"{u}int{b}": np.dtype(f"{u}int{b}") for u in ("", "u") for b in (8, 16, 32, 64)}

_NARROW_FLOATS = {t for t in _PLAIN.values() if t.itemsize == 1 and t.kind not in "biu"}
_VECTOR = re.compile(r"^(?P<scalar>.*?[a-z0-9])(?:x(?P<lanes>\d+))?$")


@dataclass(frozen=True)
class DType:
    """A TIR dtype: the numpy dtype of one element and the number of vector lanes."""

    numpy: np.dtype[Any]
    lanes: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.numpy.itemsize)


@cache
def parse(text: str) -> DType:
    """The dtype spelled `text`, such as `float16x8`.

    Raises UnsupportedError for one whose elements are no whole bytes.
    """
    match = _VECTOR.match(text)
    scalar = match["scalar"] if match else text
    if scalar not in _PLAIN:
        raise UnsupportedError(f"dtype {text}")
    return DType(_PLAIN[scalar], int((match and match["lanes"]) or 1))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of this dtype round: numpy's floats and ml_dtypes' alike."""
    return dtype.kind not in "biu"


def cast(value: Any, target: np.dtype[Any]) -> Any:
    """`value` converted as the device does: C truncation, saturation, and finite float8."""
    source = value.dtype
    if source == target:
        return value
    if is_float(source) and target.kind in "iu":
        return _float_to_int(value, target)
    if target.kind == "b":
        return value != source.type(0)
    if target in _NARROW_FLOATS:
        return _saturate(value, target)
    return value.astype(target)


def _float_to_int(value: Any, target: np.dtype[Any]) -> Any:
    # cvt.rzi saturates and turns NaN into 0; narrow targets go through 32 bits and wrap.
    wide = target if target.itemsize >= 4 else np.dtype(np.int32)
    info = np.iinfo(wide)
    exact = np.trunc(np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=2e19, neginf=-2e19))
    low, high = exact <= float(info.min), exact >= float(info.max)
    inside = np.where(low | high, 0.0, exact).astype(wide)
    clipped = np.where(high, wide.type(info.max), np.where(low, wide.type(info.min), inside))
    return clipped.astype(target)[()]


def _saturate(value: Any, target: np.dtype[Any]) -> Any:
    wide = value.astype(np.float32)
    if target == _PLAIN["float8_e8m0fnu"]:
        return wide.astype(target)
    top = np.float32(_largest(target))
    return np.clip(wide, -top, top).astype(target)


@cache
def _largest(dtype: np.dtype[Any]) -> float:
    info: Any = ml_dtypes.finfo  # has no annotations
    return float(info(dtype).max)


def poison(dtype: np.dtype[Any]) -> Any:
    """What a read of nothing yields: all bits set, NaN in every float format that has one."""
    return np.frombuffer(b"\xff" * dtype.itemsize, dtype=_raw(dtype)).view(dtype)[0]


def _raw(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.uint8) if dtype.kind == "b" else np.dtype(f"u{dtype.itemsize}")
