"""Tensor core products of a warp: `ldmatrix` and `mma` of 16-bit floats, m16n8k8 and m16n8k16.

Register layouts are those of the PTX manual. With g = lane // 4 and t = lane % 4, a pair of A's
elements is at row g or g + 8 and columns 2t, 2t + 1, eight more for the second half of k; B's is
at those rows and column g; C's at row g or g + 8 and columns 2t, 2t + 1. Products are exact and
their sum with C is rounded once, which is at least as exact as the hardware.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import Array, parse
from ..expr import constant
from ..memory import Pointer
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .registry import op
from .warp import exchange

if TYPE_CHECKING:
    from ..compile import Compiler

_HALF = np.dtype(np.uint16)
_FLOATS = {"fp16": "float16", "float16": "float16", "bf16": "bfloat16", "bfloat16": "bfloat16"}
_SUMS = {"fp32": "float32", "float32": "float32", "fp16": "float16", "float16": "float16"}
_SHAPE = re.compile(r"m16n8k(8|16)")
_LANES = 32


# -- ldmatrix -------------------------------------------------------------------------------------


@op("tl.ptx_ldmatrix")
def _tile_ldmatrix(c: Compiler, node: Any) -> Value:
    transposed, count = constant(node.args[0]), constant(node.args[1])
    source, target = c.expr(node.args[2]), c.expr(node.args[3])
    return lambda w: _load_matrices(w, bool(transposed), int(count or 0), source(w), target(w))


@op("ptx_ldmatrix")
def _ldmatrix(c: Compiler, node: Any) -> Value:
    transposed, count = constant(node.args[0]), constant(node.args[1])
    if str(node.args[2].value) != ".b16":
        raise UnsupportedError(f"ldmatrix of {node.args[2].value}")
    target, source = _element(c, node.args[3], node.args[4]), c.expr(node.args[5])
    behind = c.expr(node.args[6])

    def run(w: Wave) -> None:
        origin: Pointer = source(w)
        size = (origin.dtype or _HALF).itemsize
        place = origin.shifted(np.asarray(behind(w), np.int64)[()] * size)
        _load_matrices(w, bool(transposed), int(count or 0), place, target(w))

    return run


def _load_matrices(
    wave: Wave, transposed: bool, count: int, source: Pointer, target: Pointer
) -> None:
    """Eight lanes give the rows of each 8 by 8 matrix; every lane gets two of its elements."""
    lane = wave.tid % _LANES
    pair = 2 * (lane % 4)[:, None] + np.arange(2)
    single = np.broadcast_to((lane // 4)[:, None], pair.shape)
    row, column = (pair, single) if transposed else (single, pair)
    offsets = np.broadcast_to(np.asarray(source.offset, np.int64), (wave.n,))
    parts = []
    for matrix in range(count):
        for element in range(2):
            giver = (wave.tid - lane) + matrix * 8 + row[:, element]
            start = exchange(wave, offsets, giver, "loads a matrix with")
            parts.append(start // _HALF.itemsize + column[:, element])
    index = np.stack(parts, axis=1)
    values = access.load(wave, Pointer(source.storage, 0), index, _HALF, None)
    access.store(wave, target, np.arange(2 * count)[None, :], _HALF, None, values)


# -- mma ------------------------------------------------------------------------------------------


@op("ptx_mma")
def _mma(c: Compiler, node: Any) -> Value:
    shape, a_layout, b_layout, *kinds = (str(a.value) for a in node.args[:6])
    match = _SHAPE.fullmatch(shape)
    known = match and (a_layout, b_layout) == ("row", "col") and kinds[0] in _FLOATS
    if not known or kinds[0] != kinds[1] or kinds[2] not in _SUMS or not match:
        raise UnsupportedError(f"the product {shape} of {kinds[0]} and {kinds[1]} into {kinds[2]}")
    depth = int(match[1])
    a, b, sums = (_element(c, node.args[6 + 2 * i], node.args[7 + 2 * i]) for i in range(3))
    factor, total = parse(_FLOATS[kinds[0]]).numpy, parse(_SUMS[kinds[2]]).numpy
    return lambda w: _multiply(w, depth, a(w), b(w), sums(w), factor, total)


def _element(c: Compiler, base: Any, offset: Any) -> Value:
    """The address `offset` elements behind a local array."""
    data, behind = c.expr(base), c.expr(offset)

    def run(w: Wave) -> Pointer:
        p: Pointer = data(w)
        size = p.dtype.itemsize if p.dtype is not None else 1
        return p.shifted(np.asarray(behind(w), np.int64)[()] * size)

    return run


def _multiply(
    wave: Wave,
    depth: int,
    a: Pointer,
    b: Pointer,
    sums: Pointer,
    factor: np.dtype[Any],
    total: np.dtype[Any],
) -> None:
    if wave.n % _LANES or (wave.tid[::_LANES] % _LANES).any():
        raise UnsupportedError("a tensor core product by a part of a warp")
    left = _registers(wave, a, depth // 2, factor)
    right = _registers(wave, b, depth // 4, factor)
    old = _registers(wave, sums, 4, total)
    product = _matrix(left, _a_places(depth), (16, depth)) @ _matrix(
        right, _b_places(depth), (depth, 8)
    )
    rows, columns = _c_places()
    result = (product[:, rows, columns] + old).astype(total).reshape(wave.n, 4)
    access.store(wave, sums, np.arange(4)[None, :], total, None, result)


def _registers(wave: Wave, pointer: Pointer, count: int, dtype: np.dtype[Any]) -> Array:
    values = access.load(wave, pointer, np.arange(count)[None, :], dtype, None)
    return np.asarray(values.astype(np.float64).reshape(-1, _LANES, count))


def _matrix(registers: Array, places: tuple[Array, Array], shape: tuple[int, int]) -> Array:
    out = np.empty((len(registers), *shape), np.float64)
    out[:, places[0], places[1]] = registers
    return out


def _grid() -> tuple[Array, Array]:
    lane = np.arange(_LANES)[:, None]
    return lane // 4, 2 * (lane % 4)


def _a_places(depth: int) -> tuple[Array, Array]:
    group, pair = _grid()
    at = np.arange(depth // 2)[None, :]
    return group + 8 * (at // 2 % 2), pair + at % 2 + 8 * (at // 4)


def _b_places(depth: int) -> tuple[Array, Array]:
    group, pair = _grid()
    at = np.arange(depth // 4)[None, :]
    return pair + at % 2 + 8 * (at // 2), group + 0 * at


def _c_places() -> tuple[Array, Array]:
    group, pair = _grid()
    at = np.arange(4)[None, :]
    return group + 8 * (at // 2), pair + at % 2
