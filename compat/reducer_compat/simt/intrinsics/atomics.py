"""Atomic updates, in lane order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import DType, cast, parse
from ..memory import Access, Pointer, read, write
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .memory_ops import load_vector
from .registry import Extern, extern, op

if TYPE_CHECKING:
    from ..compile import Compiler

Combine = Callable[[Any, Any], Any]

_COMBINES: dict[str, Combine] = {
    "add": lambda old, new: old + new, "max": np.fmax, "min": np.fmin,
    "or": np.bitwise_or, "and": np.bitwise_and, "xor": np.bitwise_xor, "exch": lambda old, new: new,
}  # fmt: skip


def update(wave: Wave, pointer: Pointer, dtype: DType, values: Any, combine: Combine) -> Any:
    """Combines a value (or vector) a lane into memory; returns what was there before each."""
    index: Any = np.int64(0) if dtype.lanes == 1 else np.arange(dtype.lanes)[None, :]
    target = access.resolve(wave, pointer, index, dtype.numpy, None)
    shape = (wave.n,) if dtype.lanes == 1 else (wave.n, dtype.lanes)
    flat = np.broadcast_to(target.flat, shape)
    good = None if target.good is None else np.broadcast_to(target.good, shape)
    whole = Access(target.storage, dtype.numpy, flat, good)
    access.note_atomic(wave, whole)
    _check_written(wave, whole)
    return _in_order(whole, np.broadcast_to(values, shape), combine)


def _check_written(wave: Wave, target: Access) -> None:
    fresh = read(target)[1]
    if fresh is not None:
        name = target.storage.name
        wave.m.fault(
            wave,
            "unwritten-read",
            fresh,
            lambda p, e: f"updates {name}, where nothing was written before",
        )


def _in_order(target: Access, values: Any, combine: Combine) -> Any:
    flat, new = target.flat.reshape(-1), values.reshape(-1)
    old = np.empty(len(flat), target.dtype)
    todo = np.arange(len(flat)) if target.good is None else np.flatnonzero(target.good.reshape(-1))
    while len(todo):
        _, first = np.unique(flat[todo], return_index=True)
        now = todo[first]
        place = Access(target.storage, target.dtype, flat[now], None)
        old[now] = target.storage.view(target.dtype)[flat[now]]
        write(place, combine(old[now], new[now]).astype(target.dtype))
        todo = np.delete(todo, first)
    return old.reshape(target.flat.shape)


def _build(c: Compiler, kind: str, address: Any, operand: Any, lanes: int) -> Value:
    pointer, value = c.expr(address), c.expr(operand)
    given = None if str(operand.dtype) == "handle" else parse(str(operand.dtype))
    combine = _COMBINES[kind]

    def run(w: Wave) -> Any:
        p: Pointer = pointer(w)
        source = value(w)
        element = p.dtype or (given.numpy if given else None)
        if element is None:
            raise UnsupportedError("an atomic on an address without a type")
        width = DType(element, max(lanes, given.lanes if given else 1))
        if isinstance(source, Pointer):
            source = load_vector(w, source, width)
        return update(w, p, width, cast(source, element), combine)

    return run


def _lanes(name: str) -> int:
    return 4 if "x4" in name else 2 if "x2" in name else 1


_KINDS = ("add", "max", "min", "or")
_WIDTHS = ("", "x2", "x4")
_OP_KINDS = {
    f"tl.atomic_{k}{x}{r}_elem_op": k for k in _KINDS for x in _WIDTHS for r in ("", "_ret")
}
_EXTERN_KINDS = {
    f"Atomic{k.title()}{x}{r}": k for k in _KINDS for x in _WIDTHS for r in ("", "Ret")
}
_EXTERN_KINDS |= {f"atomic{k.title()}": k for k in _COMBINES}


@op(*_OP_KINDS)
def _atomic(c: Compiler, node: Any) -> Value:
    name = c.tir.op_name(node)
    return _build(c, _OP_KINDS[name], node.args[0], node.args[1], _lanes(name))


@extern(*_EXTERN_KINDS)
def _atomic_extern(c: Compiler, call: Extern) -> Value:
    return _build(c, _EXTERN_KINDS[call.name], call.args[0], call.args[1], _lanes(call.name))


@op("tl.atomic_load_elem_op")
def _atomic_load(c: Compiler, node: Any) -> Value:
    pointer, dtype = c.expr(node.args[0]), parse(str(node.dtype))
    return lambda w: update(w, pointer(w), dtype, np.zeros((), dtype.numpy), lambda old, new: old)


@op("tl.atomic_store_elem_op")
def _atomic_store(c: Compiler, node: Any) -> Value:
    pointer, value, dtype = (
        c.expr(node.args[0]),
        c.expr(node.args[1]),
        parse(str(node.args[1].dtype)),
    )

    def run(w: Wave) -> None:
        p: Pointer = pointer(w)
        target = access.resolve(w, p, np.int64(0), dtype.numpy, None)
        whole = Access(target.storage, dtype.numpy, np.broadcast_to(target.flat, (w.n,)), None)
        access.note_atomic(w, whole)
        write(whole, value(w))

    return run


@extern("AtomicLoad")
def _load_extern(c: Compiler, call: Extern) -> Value:
    pointer, dtype = c.expr(call.args[0]), parse(call.dtype)
    return lambda w: update(w, pointer(w), dtype, np.zeros((), dtype.numpy), lambda old, new: old)
