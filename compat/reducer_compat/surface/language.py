"""`T.alloc_reducer`, `T.reducer_init`, `T.reducer_update`, `T.finalize_reducer`, and the v1
openings `T.clear` and `T.fill`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer_compat import marker, monoids
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.modes import Mode, mode
from reducer_compat.surface import parts
from reducer_compat.surface.registry import Traced, location, register, traced
from reducer_rules.monoid import Op, is_float
from reducer_rules.timeline import InitForm, UpdateForm


def alloc_reducer(shape: Any, dtype: Any, op: str = "sum", replication: str | None = None) -> Any:
    """Allocate a reducer: an accumulator that many threads contribute to.

    Args:
        shape: an extent or a tuple of extents, the logical outputs.
        dtype: the dtype of the outputs and of the accumulation.
        op: sum, max, min, prod, bitand, bitor or bitxor.
        replication: v1's layout hint, "all" or "none"; it has no effect here.

    Raises:
        ReducerError: `op` or `replication` is none of these, or a bitwise op has a float dtype
            (RM217).
    """
    import tilelang.language as language

    where = location()
    _check_alloc(str(op), str(dtype), replication, where)
    extents = (shape,) if isinstance(shape, (int, adapter().tir.PrimExpr)) else tuple(shape)
    buffer = language.alloc_fragment(extents, dtype)
    register(buffer, Op(str(op)))
    call = marker.build("alloc", marker.origin(buffer), str(op), replication or marker.NONE, where)
    adapter().evaluate(call)
    return buffer


def _check_alloc(op: str, dtype: str, replication: str | None, where: str) -> None:
    if op not in {str(member) for member in Op}:
        raise ReducerError(
            "RM217",
            f'a reducer is combined by "{op}", which is no reduction operation',
            location=where,
            fix=f"use one of {', '.join(map(str, Op))}",
        )
    if op.startswith("bit") and is_float(dtype):
        raise ReducerError(
            "RM217",
            f"a reducer is combined by {op}, which {dtype} does not have: it requires an integer "
            "dtype",
            location=where,
            fix="use an integer dtype",
        )
    if replication not in (None, "all", "none"):
        raise ReducerError(
            "RC004",
            f"replication must be 'all' or 'none', got {replication!r}",
            location=where,
            fix="leave replication out; it has no effect",
        )


def reducer_init(reducer: Any, init: Any = None) -> Any:
    """Open an epoch, at the identity or at a seed that enters every output once."""
    where = location()
    require_reducer(reducer, "reducer_init", where).closed = False
    number = isinstance(init, (bool, int, float))
    seed = [] if init is None else [monoids.cast(init, str(reducer.dtype)) if number else init]
    return marker.build("init", marker.origin(reducer), InitForm.REDUCER_INIT.name, where, *seed)


def reducer_update(target: Any, *rest: Any) -> Any:
    """Contribute to one output: ``(acc[i, j], value)`` or ``(acc, (i, j), value)``.

    A bare index may stand for a tuple of one in the second spelling.
    """
    where = location()
    tir = adapter().tir
    if isinstance(target, tir.BufferLoad) and len(rest) == 1:
        buffer, indices, value, form = target.buffer, target.indices, rest[0], UpdateForm.SHIPPED
    elif isinstance(target, tir.Buffer) and len(rest) == 2:
        buffer, indices, value, form = target, rest[0], rest[1], UpdateForm.RFC
    else:
        raise ReducerError(
            "RC002",
            "reducer_update does not name the output it contributes to",
            location=where,
            fix="write T.reducer_update(acc[i], value) or T.reducer_update(acc, i, value)",
        )
    require_reducer(buffer, "reducer_update", where)
    where_to = tuple(indices) if not isinstance(indices, (int, tir.PrimExpr)) else (indices,)
    return update_marker(buffer, where_to, value, form, marker.NONE, where)


def update_marker(
    buffer: Any, indices: Any, value: Any, form: UpdateForm, combine: str, where: str
) -> Any:
    """The marker of one contribution, its value in the dtype of the reducer."""
    contribution = monoids.cast(value, str(buffer.dtype))
    return marker.build(
        "update",
        marker.origin(buffer),
        form.name,
        combine,
        where,
        contribution,
        *marker.operands(indices),
    )


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None) -> Any:
    """Close an epoch into `dst`, or in place.

    `batch` and `annotations` are hints for TileLang's own lowering: they never change a number.
    A number in the place of `dst` is v1's positional batch. A part of a buffer is written as
    `T.copy` takes it: a slice, or the element where it starts.

    Raises:
        ReducerError: `batch` is less than 1, `dst` is no buffer and no part of one (RC004), or
            the part has another shape or dtype than the reducer (RM216).
    """
    where = location()
    traced_reducer = require_reducer(reducer, "finalize_reducer", where)
    if isinstance(dst, int):
        dst, batch = None, dst
    traced_reducer.closed = dst is None
    if batch < 1:
        raise ReducerError(
            "RC004",
            f"finalize_reducer: batch must be >= 1, got {batch}",
            location=where,
            fix="leave batch out; it is a hint",
        )
    if dst is None:
        return _finalize_marker(reducer, batch, where)
    if isinstance(dst, adapter().tir.Buffer):
        return _finalize_marker(reducer, batch, where, dst)
    return parts.finalize(
        reducer, dst, where, lambda whole: _finalize_marker(reducer, batch, where, whole)
    )


def _finalize_marker(reducer: Any, batch: int, where: str, *destination: Any) -> Any:
    batch_operand = adapter().tir.IntImm("int32", batch)
    whole = map(marker.origin, destination)
    return marker.build("finalize", marker.origin(reducer), batch_operand, where, *whole)


def require_reducer(buffer: Any, name: str, where: str) -> Traced:
    """The reducer that `buffer` is.

    Raises:
        ReducerError: it is none of the kernel being traced.
    """
    found = traced(buffer)
    if found is None:
        shown = getattr(buffer, "name", repr(buffer))
        raise ReducerError(
            "RC002",
            f"{name} got {shown}, which T.alloc_reducer did not make",
            location=where,
            fix="allocate it with T.alloc_reducer in this kernel, after importing reducer_compat",
        )
    return found


def choosing(ours: Callable[..., Any], native: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function of the language: `ours`, or TileLang's under mode native where it has v2.

    The mode is read at every call, so that a change of it needs no second install.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        if native is None or mode() is not Mode.NATIVE or not adapter().native_v2:
            return ours(*args, **kwargs)
        if ours is reducer_update and len(args) == 3:
            return native(args[0][args[1]], args[2])
        return native(*args, **kwargs)

    call.__name__ = ours.__name__
    call.__doc__ = ours.__doc__
    call.__wrapped__ = ours  # type: ignore[attr-defined]
    return call


def opening(original: Callable[..., Any], form: InitForm) -> Callable[..., Any]:
    """`T.clear` or `T.fill` that opens an epoch where its buffer is a reducer."""

    def call(buffer: Any, *args: Any, **kwargs: Any) -> Any:
        reducer = traced(buffer)
        if reducer is None:
            return original(buffer, *args, **kwargs)
        reducer.closed = False
        value = 0 if form is InitForm.CLEAR else kwargs.get("value", args[0] if args else 0)
        seed = monoids.cast(value, str(buffer.dtype))
        return marker.build("init", marker.origin(buffer), form.name, location(), seed)

    call.__name__ = getattr(original, "__name__", form.name)
    call.__doc__ = original.__doc__
    call.__wrapped__ = original  # type: ignore[attr-defined]
    return call
