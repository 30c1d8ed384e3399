"""The inputs of a kernel: the same for every worker that is given the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reducer_compat.simt import UnsupportedError
from reducer_compat.simt.dtypes import is_float, parse

from .access import outputs_of, written_by
from .protocol import Trouble

#: The size of a symbolic dimension that nothing gives.
SYMBOLIC = 256
#: Values run from 1 to this, so that sums of them are exact.
TOP = 8
#: From this many elements on, narrow floats hold 1 and 2 only: their sums would overflow.
MANY = 64
#: Marks the elements of an integer output that nothing wrote.
UNWRITTEN = 119
VARIANTS = ("positive", "signed")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: a tensor with its shape, or a scalar, whose shape is None.

    `output` is a tensor that the kernel only writes, `written` one that it writes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    written: bool
    output: bool

    def __str__(self) -> str:
        if self.shape is None:
            return self.name
        return f"{self.name}[{','.join(map(str, self.shape))}] {self.dtype}"


def parameters(prim_func: Any, sizes: Mapping[str, int]) -> tuple[Parameter, ...]:
    """The parameters of a kernel, in order, with the sizes of symbolic dimensions filled in.

    Raises:
        Trouble: a parameter is neither a tensor nor a number.
    """
    known = dict(sizes)
    written, outputs = written_by(prim_func), outputs_of(prim_func)
    found = []
    for param in prim_func.params:
        buffer = prim_func.buffer_map.get(param)
        if buffer is None:
            dtype = str(param.dtype)
            if dtype == "handle":
                raise Trouble("arguments", f"parameter {param.name} is a pointer without a shape")
            found.append(Parameter(str(param.name), dtype, None, False, False))
            continue
        shape = tuple(_extent(extent, known) for extent in buffer.shape)
        name = str(buffer.name)
        found.append(Parameter(name, str(buffer.dtype), shape, name in written, name in outputs))
    return tuple(found)


def symbols(prim_func: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that the symbolic dimensions of a kernel take."""
    names = {
        str(extent.name)
        for buffer in prim_func.buffer_map.values()
        for extent in buffer.shape
        if hasattr(extent, "name")
    }
    return {name: sizes.get(name, SYMBOLIC) for name in sorted(names)}


def values(parameter: Parameter, seed: int, variant: str, sizes: Mapping[str, int]) -> Any:
    """The value of one parameter: small whole numbers, in the parameter's own dtype.

    The first eight elements are 1 to 8 in some order, the others are drawn. The `signed` variant
    gives every element of a signed dtype a sign. A scalar is its size, or 1. An output is filled
    with what no kernel writes: NaN, or `UNWRITTEN` in an integer.

    Raises:
        Trouble: the interpreter does not know the dtype.
    """
    if parameter.shape is None:
        return sizes.get(parameter.name, 1)
    try:
        dtype = parse(parameter.dtype).numpy
    except UnsupportedError as error:
        raise Trouble("unsupported", str(error)) from error
    if parameter.output:
        return np.full(parameter.shape, np.nan if is_float(dtype) else UNWRITTEN).astype(dtype)
    count = int(np.prod(parameter.shape, dtype=np.int64))
    draw = np.random.default_rng([seed, crc32(parameter.name.encode()), VARIANTS.index(variant)])
    top = 2 if dtype.itemsize < 4 and count > MANY else TOP
    numbers = np.concatenate(
        [draw.permutation(TOP)[:count] + 1, draw.integers(1, top + 1, max(count - TOP, 0))]
    )
    if variant == "signed" and (is_float(dtype) or dtype.kind == "i"):
        numbers = numbers * draw.choice((-1, 1), count)
    numbers = numbers % 2 if dtype.kind == "b" else numbers
    shaped: NDArray[Any] = numbers.astype(np.float32).astype(dtype).reshape(parameter.shape)
    return shaped


def _extent(extent: Any, known: dict[str, int]) -> int:
    """An extent as a number; a symbolic one counts as its size wherever it is mentioned."""
    if hasattr(extent, "value") or isinstance(extent, int):
        return int(extent)
    from tilelang import tvm

    from reducer_compat.simt.lowering import installed

    _, _, tir = installed()
    free = {}
    for node in tir.nodes(extent):
        if isinstance(node, tir.module.Var):
            size = known.setdefault(str(node.name), SYMBOLIC)
            free[node] = tir.module.IntImm(str(node.dtype), size)
    value = tir.module.stmt_functor.substitute(extent, free)
    return int(tvm.arith.Analyzer().simplify(value))
