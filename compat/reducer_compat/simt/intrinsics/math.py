"""Mathematical functions and bit operations."""

from __future__ import annotations

from collections.abc import Callable
from math import erf as _erf
from math import gamma as _gamma
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arith import maximum, minimum, multiply
from ..dtypes import cast, is_float, parse
from ..expr import constant, literal, select
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .registry import Extern, extern, op

if TYPE_CHECKING:
    from ..compile import Compiler

Function = Callable[..., Any]


def _vectorize(fn: Callable[[float], float]) -> Function:
    return lambda x: np.asarray(np.frompyfunc(fn, 1, 1)(np.asarray(x, np.float64)), np.float64)


def _rsqrt(x: Any) -> Any:
    return x.dtype.type(1) / np.sqrt(x)


def _round_half_away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)


def _sigmoid(x: Any) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


_FLOAT_FUNCTIONS: dict[str, Function] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "rsqrt": _rsqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": _vectorize(_erf), "tgamma": _vectorize(_gamma), "sigmoid": _sigmoid,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": _round_half_away,
    "round away": _round_half_away, "nearbyint": np.rint,
    "rint": np.rint, "fabs": np.abs, "rcp": lambda x: x.dtype.type(1) / x,
    "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "nextafter": np.nextafter, "fmod": np.fmod, "fma": lambda a, b, c: a * b + c,
    "fmax": np.fmax, "fmin": np.fmin, "fdiv": lambda a, b: a / b,
}  # fmt: skip


def _rounded(fn: Function, dtype: np.dtype[Any]) -> Function:
    """A function computed in float32 (float64 for doubles) and rounded once to `dtype`."""
    wide = np.dtype(np.float64) if dtype.itemsize == 8 else np.dtype(np.float32)

    def run(*values: Any) -> Any:
        return cast(np.asarray(fn(*(v.astype(wide) for v in values)))[()], dtype)

    return run


def _fused(a: Any, b: Any, c: Any) -> Any:
    return a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)


_INTEGRAL = ("floor", "ceil", "trunc", "round", "round away", "nearbyint")


def _apply(c: Compiler, name: str, args: Any, dtype: str) -> Value:
    values, kind = [c.expr(a) for a in args], parse(dtype).numpy
    if not is_float(kind) and name in _INTEGRAL:
        return values[0]
    if not is_float(kind) and name == "fabs":
        return lambda w: np.abs(values[0](w))
    # The 16-bit rounding function is hrint, which takes halves to even.
    name = "rint" if name == "round" and kind.itemsize == 2 else name
    run = _rounded(_fused if name == "fma" else _FLOAT_FUNCTIONS[name], kind)
    return lambda w: run(*(v(w) for v in values))


_OP_SPELLINGS = {s: n for n in _FLOAT_FUNCTIONS for s in (n, f"tl.__{n}")}
_OP_SPELLINGS["tl.round_ties_away_from_zero"] = "round away"
_EXTERN_SPELLINGS = {
    s: n
    for n in _FLOAT_FUNCTIONS
    for s in (n, f"{n}f", f"__{n}f", f"h{n}", f"tl::{n}", f"tl::h{n}", f"__h{n}")
}
_EXTERN_SPELLINGS |= {"tl::RoundTiesAwayFromZero": "round away", "hrint": "rint"}


@op(*_OP_SPELLINGS)
def _function(c: Compiler, node: Any) -> Value:
    return _apply(c, _OP_SPELLINGS[c.tir.op_name(node)], node.args, str(node.dtype))


@extern(*_EXTERN_SPELLINGS)
def _function_extern(c: Compiler, call: Extern) -> Value:
    return _apply(c, _EXTERN_SPELLINGS[call.name], call.args, call.dtype)


_IEEE: dict[str, Function] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "fmaf": _fused, "frcp": lambda x: x.dtype.type(1) / x, "fsqrt": np.sqrt, "frsqrt": _rsqrt,
    "fdiv": lambda a, b: a / b,
}  # fmt: skip


@op(*(f"tl.ieee_{n}" for n in _IEEE))
def _ieee_op(c: Compiler, node: Any) -> Value:
    name = c.tir.op_name(node).removeprefix("tl.ieee_")
    args = [a for a in node.args if type(a).__name__ != "StringImm"]
    rounding = [str(a.value) for a in node.args if type(a).__name__ == "StringImm"]
    if any(r != "rn" for r in rounding):
        raise UnsupportedError(f"the rounding mode {rounding[0]} of {c.tir.op_name(node)}")
    values, run = [c.expr(a) for a in args], _rounded(_IEEE[name], parse(str(node.dtype)).numpy)
    return lambda w: run(*(v(w) for v in values))


def _power(c: Compiler, base: Any, exponent: int) -> Value:
    value = c.expr(base)

    def run(w: Wave) -> Any:
        factor = value(w)
        result = factor
        for _ in range(exponent - 1):
            result = multiply(result, factor)
        return result

    return run


@op("tl.pow_of_int")
def _pow_of_int(c: Compiler, node: Any) -> Value:
    exponent = constant(node.args[1])
    if exponent is None:
        raise UnsupportedError("tl.pow_of_int with a computed exponent")
    return _power(c, node.args[0], exponent)


@extern("tl::pow_of_int")
def _pow_of_int_extern(c: Compiler, call: Extern) -> Value:
    return _power(c, call.args[0], call.integer(0))


@op("tl.fast_rcp")
def _fast_rcp(c: Compiler, node: Any) -> Value:
    return _apply(c, "rcp", node.args, str(node.dtype))


_PAIRS: dict[str, Function] = {
    "add2": lambda a, b: a + b, "sub2": lambda a, b: a - b, "mul2": lambda a, b: a * b,
    "fadd2": lambda a, b: a + b, "fmul2": lambda a, b: a * b, "fmul": lambda a, b: a * b,
    "max2": np.fmax, "min2": np.fmin, "max2_nan": np.maximum, "min2_nan": np.minimum,
    "max_nan": np.maximum, "min_nan": np.minimum,
}  # fmt: skip


@op(*(f"tl.{n}" for n in _PAIRS), *(n for n in _PAIRS if n.endswith("_nan")))
def _pairwise(c: Compiler, node: Any) -> Value:
    fn = _PAIRS[c.tir.op_name(node).removeprefix("tl.")]
    a, b = c.expr(node.args[0]), c.expr(node.args[1])
    return lambda w: fn(a(w), b(w))


@op("tl.fma2", "tl.fma")
def _fma(c: Compiler, node: Any) -> Value:
    return _apply(c, "fma", node.args[:3], str(node.dtype))


@op("tl.abs2", "abs")
def _absolute(c: Compiler, node: Any) -> Value:
    value = c.expr(node.args[0])
    return lambda w: np.abs(value(w))


@extern("abs", "fast_abs", "__habs")
def _abs_extern(c: Compiler, call: Extern) -> Value:
    value = c.expr(call.args[0])
    return lambda w: np.abs(value(w))


@op("tl.clamp")
def _clamp(c: Compiler, node: Any) -> Value:
    value, low, high = (c.expr(a) for a in node.args)
    return lambda w: minimum(maximum(value(w), low(w)), high(w))


@extern("max", "tl::fast_max", "cutlass::fast_max", "__hmax")
def _max(c: Compiler, call: Extern) -> Value:
    a, b = (c.expr(x) for x in call.args)
    return lambda w: maximum(a(w), b(w))


@extern("min", "tl::fast_min", "cutlass::fast_min", "__hmin")
def _min(c: Compiler, call: Extern) -> Value:
    a, b = (c.expr(x) for x in call.args)
    return lambda w: minimum(a(w), b(w))


@op("isnan")
def _isnan(c: Compiler, node: Any) -> Value:
    value = c.expr(node.args[0])
    return lambda w: np.isnan(value(w))


@op("isinf")
def _isinf(c: Compiler, node: Any) -> Value:
    value = c.expr(node.args[0])
    return lambda w: np.isinf(value(w))


@op("isfinite")
def _isfinite(c: Compiler, node: Any) -> Value:
    value = c.expr(node.args[0])
    return lambda w: np.isfinite(value(w))


# -- choice -------------------------------------------------------------------------------------


@op("if_then_else")
def _if_then_else(c: Compiler, node: Any) -> Value:
    return select(c, *node.args)


@op("likely", "tl.likely", "assume")
def _likely(c: Compiler, node: Any) -> Value:
    return c.expr(node.args[0])


@op("infinity", "tl.infinity")
def _infinity(c: Compiler, node: Any) -> Value:
    return literal(cast(np.float64(np.inf), parse(str(node.dtype)).numpy))


@op("large_uint_imm")
def _large_uint(c: Compiler, node: Any) -> Value:
    low, high = (int(constant(a) or 0) for a in node.args)
    return literal(parse(str(node.dtype)).numpy.type((high << 32) | low))


# -- bits ---------------------------------------------------------------------------------------

_BITS: dict[str, Function] = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
}  # fmt: skip


@op(*_BITS)
def _bits(c: Compiler, node: Any) -> Value:
    fn = _BITS[c.tir.op_name(node)]
    a, b = (c.expr(x) for x in node.args)
    dtype = parse(str(node.dtype)).numpy
    return lambda w: fn(a(w), b(w)).astype(dtype)


@op("bitwise_not")
def _not(c: Compiler, node: Any) -> Value:
    value = c.expr(node.args[0])
    return lambda w: np.invert(value(w))


def count_bits(value: Any) -> Any:
    """The number of bits set, as int32."""
    raw = np.asarray(value)
    unsigned = raw.astype(raw.dtype.str.replace("i", "u"))
    table = np.unpackbits(np.ascontiguousarray(unsigned)[..., None].view(np.uint8), axis=-1)
    return table.sum(axis=-1, dtype=np.int32)[()]


@op("popcount")
def _popcount(c: Compiler, node: Any) -> Value:
    value, dtype = c.expr(node.args[0]), parse(str(node.dtype)).numpy
    return lambda w: count_bits(value(w)).astype(dtype)


@extern("__popc", "__popcll")
def _popc(c: Compiler, call: Extern) -> Value:
    value = c.expr(call.args[0])
    return lambda w: count_bits(value(w))


@op("clz")
def _clz(c: Compiler, node: Any) -> Value:
    value, dtype = c.expr(node.args[0]), parse(str(node.dtype)).numpy
    bits = 8 * parse(str(node.args[0].dtype)).itemsize
    leading = np.frompyfunc(lambda v: bits - (int(v) % (1 << bits)).bit_length(), 1, 1)
    return lambda w: np.asarray(leading(value(w))).astype(dtype)[()]


@op("tl.__ffs")
def _ffs(c: Compiler, node: Any) -> Value:
    value = c.expr(node.args[0])
    lowest = np.frompyfunc(lambda v: (int(v) & -int(v)).bit_length(), 1, 1)
    return lambda w: np.asarray(lowest(value(w))).astype(np.int32)[()]


__all__ = ["count_bits"]
