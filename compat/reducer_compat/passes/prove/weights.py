"""Which contributions a sum holds, as one number.

Every dynamic contribution has a weight: 64 bits that follow from its statement and iteration and
look random. A memory slot holds the sum of the weights that were combined into it, modulo 2**64.
The sum is the expected one if every contribution entered once; should it not be so, the sums are
equal with a probability of about 2**-54 or less (a count wrong by a multiple of 2**k weakens it
by k bits). Counting is a linear map, so the sum of any part can be looked at alone: that is how
the contribution at fault is found.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from reducer_compat.passes.prove.lanes import Array

_MASK = (1 << 64) - 1
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
#: Odd numbers far from each other, to tell the loops around a statement apart.
_STRIDES = tuple((0x9E3779B97F4A7C15 * (2 * k + 3) ** 3 | 1) & _MASK for k in range(16))


def weight(number: int, ids: list[Any]) -> Any:
    """The weight of a contribution: of one, or of one for each element where ids are arrays."""
    fixed = (number + 1) * 0xD1342543DE82EF95
    key: Any = None
    for place, one in enumerate(ids):
        stride = _STRIDES[place % len(_STRIDES)]
        if isinstance(one, np.ndarray) and one.ndim:
            part = one.astype(np.uint64)
            part *= np.uint64(stride)
            key = part if key is None else key + part
        else:
            fixed += int(one) * stride
    fixed &= _MASK
    if key is None:
        return np.uint64(_mixed(fixed))
    key += np.uint64(fixed)
    return _mixed_all(key)


@lru_cache(maxsize=1024)
def garbage(name: str) -> np.uint64:
    """What a slot holds that nothing wrote, or that something unexpected did."""
    value: np.uint64 = weight(-2 - sum(map(ord, name)), [len(name)])
    return value


def times(total: int, one: int) -> int | None:
    """How often a weight makes up a sum, None if that is no sensible number."""
    count = total * pow(one, -1, 1 << 64) & _MASK
    return count if count < 1 << 20 else None


def _mixed(key: int) -> int:
    """Spread every bit of a key over all 64, and make it odd."""
    key = (key ^ key >> 30) * _FIRST & _MASK
    key = (key ^ key >> 27) * _SECOND & _MASK
    return key ^ key >> 31 | 1


def _mixed_all(keys: Array) -> Array:
    """`_mixed` of every key, in place."""
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    keys |= np.uint64(1)
    return keys


ZERO = np.uint64(0)

__all__ = ["ZERO", "Array", "garbage", "times", "weight"]
