"""Every dtype and every op."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tilelang.language as T

from tests.kernels.case import Arrays, Case, numpy_dtype

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint32")
_NUMPY = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


def combine(op: str, dtype: str) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((3, 40), dtype), B: T.Tensor((3,), dtype)):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((3,), dtype, op=op)
            result = T.alloc_fragment((3,), dtype)
            T.reducer_init(acc)
            for i, j in T.Parallel(3, 40):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, B)

    return kernel


def _inputs(op: str, dtype: str, rng: np.random.Generator) -> Arrays:
    low = 0 if dtype.startswith("u") or op.startswith("bit") else -3
    values = rng.integers(low, 4, (3, 40))
    if op == "prod":
        values = np.where(np.arange(40) % 13 == 0, 2, 1) * np.ones((3, 1), int)
    if op == "bitand":
        values = values | 4
    return (values.astype(numpy_dtype(dtype)),)


def _expected(op: str, a: np.ndarray) -> np.ndarray:
    return functools.reduce(_NUMPY[op], a.T)


def _case(op: str, dtype: str) -> Case:
    return Case(
        f"{op}_{dtype}",
        "every dtype and op",
        functools.partial(combine, op, dtype),
        functools.partial(_inputs, op, dtype),
        functools.partial(_expected, op),
        ((3,), dtype),
    )


def cases() -> list[Case]:
    found = [_case(op, dtype) for op in ("sum", "max", "min", "prod") for dtype in FLOATS]
    found += [_case(op, dtype) for op in ("sum", "max") for dtype in INTEGERS]
    found += [_case(op, "int32") for op in ("min", "prod")]
    found += [
        _case(op, dtype) for op in ("bitand", "bitor", "bitxor") for dtype in ("int32", "uint8")
    ]
    return found
