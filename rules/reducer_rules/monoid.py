"""The combine operations of reducers: identities, idempotence, and which release has them."""

from __future__ import annotations

import math
import re
from enum import Enum
from functools import cache


class Op(str, Enum):
    """A commutative monoid a reducer may combine with."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    BITAND = "bitand"
    BITOR = "bitor"
    BITXOR = "bitxor"

    def __str__(self) -> str:
        return self.value

    @property
    def idempotent(self) -> bool:
        """Whether combining a value twice equals combining it once.

        An idempotent combine hides replicated contributions, and makes a fill of every
        partial equal to one seed.
        """
        return self in (Op.MAX, Op.MIN, Op.BITAND, Op.BITOR)


#: What the v1 surface accepts: a v1 `alloc_reducer` asserts one of these (every release to 0.1.13).
V1_OPS = frozenset({Op.SUM, Op.MAX, Op.MIN})
#: What native v2 accepts (0.1.14, 0.1.15).
NATIVE_OPS = V1_OPS | {Op.BITAND, Op.BITOR, Op.BITXOR}

_INTEGER = re.compile(r"(u?)int(\d+)\Z")
_FLOAT = re.compile(r"(b?float|float)\d+(_\w+)?\Z")


def is_float(dtype: str) -> bool:
    """Whether `dtype`, in TVM's spelling (`float16`, `bfloat16`, `float8_e4m3fn`), is a float."""
    return _FLOAT.match(dtype) is not None


@cache
def integer_bounds(dtype: str) -> tuple[int, int] | None:
    """The least and greatest value of an integer dtype; None for any other dtype."""
    if dtype == "bool":
        return (0, 1)
    match = _INTEGER.match(dtype)
    if match is None:
        return None
    bits = int(match.group(2))
    if match.group(1):
        return (0, 2**bits - 1)
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def identity(op: Op, dtype: str) -> float | int | None:
    """The identity of `op` on `dtype`, or None where the dtype is not known to the model.

    Floats take -inf and +inf for max and min (the identity native v2 uses), integers their bounds.
    """
    bounds = integer_bounds(dtype)
    if op in (Op.SUM, Op.BITOR, Op.BITXOR):
        return 0
    if op is Op.PROD:
        return 1
    if op is Op.BITAND:
        return None if bounds is None else (bounds[1] if bounds[0] == 0 else -1)
    if bounds is not None:
        return bounds[0] if op is Op.MAX else bounds[1]
    if is_float(dtype):
        return -math.inf if op is Op.MAX else math.inf
    return None
