"""The combine operations as TIR expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_rules.monoid import Op, identity

_FUNCTORS = {
    Op.SUM: "SumOp",
    Op.MAX: "MaxOp",
    Op.MIN: "MinOp",
    Op.BITAND: "BitAndOp",
    Op.BITOR: "BitOrOp",
    Op.BITXOR: "BitXorOp",
}
#: What `tl::AllReduce` and shuffles were compiled and run with on every release; other dtypes
#: combine in shared memory alone.
_SHUFFLED = frozenset({"float32", "float16", "bfloat16", "float64", "int32", "uint32", "int64"})


def combine(op: Op, left: Any, right: Any) -> Any:
    """`left op right`, in the dtype of `left`."""
    tir = adapter().tir
    if op is Op.SUM:
        return left + right
    if op is Op.PROD:
        return left * right
    if op is Op.MAX:
        return tir.max(left, right)
    if op is Op.MIN:
        return tir.min(left, right)
    names = {Op.BITAND: "bitwise_and", Op.BITOR: "bitwise_or", Op.BITXOR: "bitwise_xor"}
    return tir.Call(left.dtype, adapter().op(names[op]), [left, right])


def combine_all(op: Op, values: Sequence[Any]) -> Any:
    """All of `values` combined, in pairs, so that few have to wait for each other."""
    while len(values) > 1:
        pairs = [
            combine(op, one, other) for one, other in zip(values[::2], values[1::2], strict=False)
        ]
        values = [*pairs, *values[len(pairs) * 2 :]]
    return values[0]


def identity_value(op: Op, dtype: str) -> Any:
    """The identity of `op` as a constant of `dtype`.

    Raises:
        ReducerError: the dtype is not known to the model, or the op has no meaning on it.
    """
    value = identity(op, dtype)
    if value is None:
        raise ReducerError(
            "RC004", f"a reducer of op {op} on {dtype} is not supported", fix="use another dtype"
        )
    return number(value, dtype)


def number(value: float, dtype: str) -> Any:
    """A constant of `dtype`; infinities too, in dtypes whose literals cannot spell them."""
    tir = adapter().tir
    if isinstance(value, float) and math.isinf(value):
        infinite = tir.Cast(dtype, tir.infinity("float32")) if dtype in _NARROW else None
        infinite = tir.infinity(dtype) if infinite is None else infinite
        return infinite if value > 0 else -infinite
    return tir.const(value, dtype)


_NARROW = frozenset({"float16", "bfloat16"})


def functor(op: Op, dtype: str) -> str | None:
    """The functor `tl::AllReduce` combines with, or None where there is none for `dtype`."""
    return _FUNCTORS.get(op) if dtype in _SHUFFLED else None


def cast(value: Any, dtype: str) -> Any:
    """`value` in `dtype`; Python numbers become constants."""
    tir = adapter().tir
    if isinstance(value, (bool, int, float)):
        return number(value, dtype)
    return value if str(value.dtype) == dtype else tir.Cast(dtype, value)
