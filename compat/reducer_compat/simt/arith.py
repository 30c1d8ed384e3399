"""Arithmetic with the device's rules: C division, NaN-ignoring minimum and maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import is_float


def multiply(a: Any, b: Any) -> Any:
    """Product; of booleans their conjunction."""
    return a & b if a.dtype.kind == "b" else a * b


def truncate_divide(a: Any, b: Any) -> Any:
    """Quotient: rounded towards zero for integers, exact for floats."""
    if is_float(a.dtype):
        return a / b
    if a.dtype.kind == "u":
        return a // b
    quotient = a // b
    inexact = (quotient * b != a) & ((a < 0) != (b < 0))
    return (quotient + inexact.astype(a.dtype)).astype(a.dtype)


def truncate_remainder(a: Any, b: Any) -> Any:
    """Remainder with the sign of the dividend, as in C."""
    return np.fmod(a, b)


def floor_divide(a: Any, b: Any) -> Any:
    """Quotient rounded down."""
    return np.floor(a / b) if is_float(a.dtype) else a // b


def floor_remainder(a: Any, b: Any) -> Any:
    """Remainder with the sign of the divisor."""
    return np.remainder(a, b)


def minimum(a: Any, b: Any) -> Any:
    """The lesser; of a NaN and a number the number, as fminf does."""
    return np.fmin(a, b)


def maximum(a: Any, b: Any) -> Any:
    """The greater; of a NaN and a number the number, as fmaxf does."""
    return np.fmax(a, b)
