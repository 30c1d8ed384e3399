"""Addresses, explicit loads and stores, and reinterpretation of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import DType, parse
from ..expr import constant, pointer_at
from ..memory import Pointer
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .registry import Extern, extern, op

if TYPE_CHECKING:
    from ..compile import Compiler


@op("address_of")
def _address_of(c: Compiler, node: Any) -> Value:
    return pointer_at(c, node.args[0])


@op("tl.access_ptr")
def _typed_access_ptr(c: Compiler, node: Any) -> Value:
    return pointer_at(c, node.args[0])


@op("tvm_access_ptr")
def _access_ptr(c: Compiler, node: Any) -> Value:
    element = parse(str(node.args[0].dtype))
    data, offset = c.expr(node.args[1]), c.expr(node.args[2])
    unit = element.itemsize * element.lanes

    def run(w: Wave) -> Pointer:
        p: Pointer = data(w)
        return Pointer(
            p.storage, p.offset + np.asarray(offset(w), np.int64)[()] * unit, element.numpy
        )

    return run


@op("handle_add_byte_offset")
def _byte_offset(c: Compiler, node: Any) -> Value:
    data, offset = c.expr(node.args[0]), c.expr(node.args[1])
    return lambda w: data(w).shifted(np.asarray(offset(w), np.int64)[()])


@op("isnullptr")
def _isnull(c: Compiler, node: Any) -> Value:
    data = c.expr(node.args[0])
    return lambda w: np.bool_(data(w) is None)


@op("tl.__ldg")
def _ldg(c: Compiler, node: Any) -> Value:
    return c.expr(node.args[0])


def load_vector(wave: Wave, pointer: Pointer, dtype: DType) -> Any:
    """`dtype.lanes` elements behind a pointer: `(n,)` for one lane, else `(n, lanes)`."""
    index: Any = np.int64(0) if dtype.lanes == 1 else np.arange(dtype.lanes)[None, :]
    return access.load(wave, pointer, index, dtype.numpy, None)


def store_vector(wave: Wave, pointer: Pointer, dtype: DType, values: Any) -> None:
    """Stores `dtype.lanes` elements behind a pointer."""
    index: Any = np.int64(0) if dtype.lanes == 1 else np.arange(dtype.lanes)[None, :]
    access.store(wave, pointer, index, dtype.numpy, None, values)


def when(wave: Wave, predicate: Any, action: Callable[[Wave], None]) -> None:
    """Runs `action` on the lanes for which `predicate` holds."""
    if np.all(predicate):
        action(wave)
    elif np.any(predicate):
        action(wave.sub(np.broadcast_to(predicate, (wave.n,))))


def _wide_load(c: Compiler, node: Any) -> Value:
    pointer, dtype = c.expr(node.args[0]), parse(str(node.dtype))
    if len(node.args) == 1:
        return lambda w: load_vector(w, pointer(w), dtype)
    predicate = c.expr(node.args[1])

    def run(w: Wave) -> Any:
        shape = (w.n,) if dtype.lanes == 1 else (w.n, dtype.lanes)
        out = np.zeros(shape, dtype.numpy)
        mask = np.broadcast_to(predicate(w), (w.n,))
        when(w, mask, lambda s: out.__setitem__(mask, load_vector(s, pointer(s), dtype)))
        return out

    return run


def _wide_store(c: Compiler, node: Any) -> Value:
    pointer, value, dtype = (
        c.expr(node.args[0]),
        c.expr(node.args[1]),
        parse(str(node.args[1].dtype)),
    )
    predicate = c.expr(node.args[2]) if len(node.args) > 2 else lambda w: np.bool_(True)

    def run(w: Wave) -> None:
        when(w, predicate(w), lambda s: store_vector(s, pointer(s), dtype, value(s)))

    return run


op(*(f"tl.ldg{b}" for b in (32, 64, 128, 256)), *(f"tl.lds{b}" for b in (32, 64, 128)))(_wide_load)
op(*(f"tl.stg{b}" for b in (32, 64, 128, 256)), *(f"tl.sts{b}" for b in (32, 64, 128)))(_wide_store)


# -- bits ---------------------------------------------------------------------------------------


def reinterpret(values: Any, source: DType, target: DType) -> Any:
    """The same bits as another dtype, with the lanes that fit."""
    array = np.asarray(values, source.numpy)
    if source.lanes == 1:
        array = array[..., None]
    raw = np.ascontiguousarray(array).view(target.numpy)
    return raw if target.lanes > 1 else raw[..., 0][()]


@op("reinterpret")
def _reinterpret(c: Compiler, node: Any) -> Value:
    value, source, target = (
        c.expr(node.args[0]),
        parse(str(node.args[0].dtype)),
        parse(str(node.dtype)),
    )
    if source.itemsize * source.lanes != target.itemsize * target.lanes:
        raise UnsupportedError(f"a reinterpretation of {node.args[0].dtype} as {node.dtype}")
    return lambda w: reinterpret(_full(value(w), source), source, target)


def _full(values: Any, source: DType) -> Any:
    if source.lanes == 1:
        return values
    return np.broadcast_to(values, (len(values), source.lanes))


@op("tl.pack_b16")
def _pack(c: Compiler, node: Any) -> Value:
    low, high = c.expr(node.args[0]), c.expr(node.args[1])
    half, word = parse(str(node.args[0].dtype)), parse(str(node.dtype))

    def bits(v: Any) -> Any:
        return reinterpret(v, half, parse("uint16")).astype(np.uint32)

    return lambda w: (bits(low(w)) | (bits(high(w)) << np.uint32(16))).astype(word.numpy)


@op("vectorlow", "vectorhigh")
def _half(c: Compiler, node: Any) -> Value:
    value, lanes = c.expr(node.args[0]), parse(str(node.dtype)).lanes
    part = slice(None, lanes) if c.tir.op_name(node) == "vectorlow" else slice(lanes, None)
    source = parse(str(node.args[0].dtype))

    def run(w: Wave) -> Any:
        chosen = _full(value(w), source)[:, part]
        return chosen if lanes > 1 else chosen[:, 0]

    return run


@op("tvm_tuple", "type_annotation")
def _tuple(c: Compiler, node: Any) -> Value:
    return lambda w: None


# -- functions over buffers ----------------------------------------------------------------------


def _any_all(c: Compiler, args: Any, reduce: Callable[..., Any], dtype: str) -> Value:
    pointer, count, kind = c.expr(args[0]), constant(args[1]), parse(dtype).numpy
    if count is None:
        raise UnsupportedError("a test of a computed number of elements")
    index = np.arange(count)[None, :]

    def run(w: Wave) -> Any:
        p: Pointer = pointer(w)
        element = p.dtype or np.dtype(np.int8)
        values = access.load(w, p, index, element, None)
        return reduce(values != element.type(0), axis=-1).astype(kind)

    return run


@op("tl.any_of", "tl.all_of")
def _any_all_op(c: Compiler, node: Any) -> Value:
    reduce = np.any if c.tir.op_name(node) == "tl.any_of" else np.all
    return _any_all(c, node.args, reduce, str(node.dtype))


@extern("tl::Any", "tl::All")
def _any_all_extern(c: Compiler, call: Extern) -> Value:
    return _any_all(c, call.args, np.any if call.name == "tl::Any" else np.all, call.dtype)


@extern("debug_print_var", "debug_print_buffer_value", "debug_print_msg")
def _print(c: Compiler, call: Extern) -> Value:
    return lambda w: None
