"""`T.alloc_reducer`, `T.reducer_init`, `T.reducer_update`, `T.finalize_reducer`, and the v1
openings `T.clear` and `T.fill`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Number
from typing import Any

from reducer_compat import marker, monoids
from reducer_compat.adapter import adapter
from reducer_compat.modes import Mode, mode
from reducer_compat.surface import parts
from reducer_compat.surface.registry import Traced, location, refusal, register, traced
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
        ReducerError: `op` or `replication` is none of these, a bitwise op has a float dtype
            (RM217), or a max or min has one of 8 bits or less (RC004).
    """
    import tilelang.language as language
    from tvm.script.ir_builder import IRBuilder

    where = location()
    _check_alloc(str(op), str(dtype), replication, where)
    extents = (shape,) if isinstance(shape, (int, adapter().tir.PrimExpr)) else tuple(shape)
    buffer = language.alloc_fragment(extents, dtype)
    # TileLang names it again where the kernel binds it to a name, and only there.
    IRBuilder.name(_UNBOUND, buffer)
    register(buffer, Op(str(op)))
    call = marker.build("alloc", marker.origin(buffer), str(op), replication or marker.NONE, where)
    adapter().evaluate(call)
    return buffer


#: What a reducer is called that the kernel binds to no name: one in a list, or of a plain function.
_UNBOUND = "reducer"
#: Ops that begin at an infinity, and the floats whose infinity TileLang can spell.
_BOUNDED = frozenset({"max", "min"})
_INFINITE = frozenset({"float16", "bfloat16", "float32", "float64"})


def _check_alloc(op: str, dtype: str, replication: str | None, where: str) -> None:
    if op not in {str(member) for member in Op}:
        raise refusal(
            "RM217",
            f'a reducer is combined by "{op}", which is no reduction operation',
            where,
            f"use one of {', '.join(map(str, Op))}",
        )
    if op.startswith("bit") and is_float(dtype):
        raise refusal(
            "RM217",
            f"a reducer is combined by {op}, which {dtype} does not have: it requires an integer "
            "dtype",
            where,
            "use an integer dtype",
        )
    if op in _BOUNDED and is_float(dtype) and dtype not in _INFINITE:
        raise refusal(
            "RC004",
            f"a {op} of {dtype} is not supported: TileLang has no infinity of it to begin with",
            where,
            "use a reducer of float16 or float32, and convert its result",
        )
    if replication not in (None, "all", "none"):
        raise refusal(
            "RC004",
            f"replication must be 'all' or 'none', got {replication!r}",
            where,
            "leave replication out; it has no effect",
        )


def reducer_init(reducer: Any, init: Any = None) -> Any:
    """Open an epoch, at the identity or at a seed that enters every output once.

    Raises:
        ReducerError: `reducer` is none, or `init` is neither a number nor an expression.
    """
    where = location()
    require_reducer(reducer, "reducer_init", where).closed = False
    seed = [] if init is None else [operand(init, str(reducer.dtype), "the seed", where)]
    return marker.build("init", marker.origin(reducer), InitForm.REDUCER_INIT.name, where, *seed)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a call of `reducer_update` names."""

    buffer: Any
    indices: tuple[Any, ...]
    value: Any
    form: UpdateForm


#: The parameters of `reducer_update` in TileLang's spelling, and in the RFC's.
_SHIPPED = ("target", "value")
_RFC = (("reducer", "indices", "value"), ("reducer", "index", "value"))


def reducer_update(*args: Any, **kwargs: Any) -> Any:
    """Contribute to one output: ``(acc[i, j], value)`` or ``(acc, (i, j), value)``.

    The parameters are `target` and `value`, or `reducer`, `indices` and `value`. A bare `index` may
    stand for a tuple of one.

    Raises:
        ReducerError: the call names no output of a reducer, or `value` is neither a number nor an
            expression.
    """
    where = location()
    made = contribution(args, kwargs, where)
    require_reducer(made.buffer, "reducer_update", where)
    return update_marker(made.buffer, made.indices, made.value, made.form, marker.NONE, where)


def contribution(args: Sequence[Any], kwargs: Mapping[str, Any], where: str) -> Contribution:
    """The arguments of `reducer_update`, in either spelling, by place and by name."""
    tir = adapter().tir
    shipped = _named(_SHIPPED, args, kwargs)
    if shipped and isinstance(shipped["target"], tir.BufferLoad):
        load = shipped["target"]
        return Contribution(load.buffer, tuple(load.indices), shipped["value"], UpdateForm.SHIPPED)
    for names in _RFC:
        given = _named(names, args, kwargs)
        if given and isinstance(given["reducer"], tir.Buffer):
            indices = _indices(given[names[1]], where)
            return Contribution(given["reducer"], indices, given["value"], UpdateForm.RFC)
    raise refusal(
        "RC002",
        "reducer_update does not name the output it contributes to",
        where,
        "write T.reducer_update(acc[i], value) or T.reducer_update(acc, i, value)",
    )


def _named(
    names: tuple[str, ...], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The arguments by the names of a spelling, or None where the call is in another one."""
    placed = dict(zip(names, args, strict=False))
    fits = len(args) + len(kwargs) == len(names) and placed.keys() | kwargs.keys() == set(names)
    return {**placed, **kwargs} if fits else None


def _indices(given: Any, where: str) -> tuple[Any, ...]:
    tir = adapter().tir
    indices = tuple(given) if isinstance(given, Sequence) else (given,)
    for index in indices:
        if not isinstance(index, (int, tir.PrimExpr)):
            raise refusal(
                "RC002",
                f"reducer_update got a {type(index).__name__} as an index",
                where,
                "write a number or an expression for each axis: T.reducer_update(acc, (i, j), v)",
            )
    return indices


def update_marker(
    buffer: Any, indices: Any, value: Any, form: UpdateForm, combine: str, where: str
) -> Any:
    """The marker of one contribution, its value in the dtype of the reducer."""
    added = monoids.cast(operand(value, None, "a contribution", where), str(buffer.dtype))
    return marker.build(
        "update",
        marker.origin(buffer),
        form.name,
        combine,
        where,
        added,
        *marker.operands(indices),
    )


def operand(value: Any, dtype: str | None, what: str, where: str) -> Any:
    """A value that a kernel computes with; a number becomes a constant of `dtype`, if one is given.

    Raises:
        ReducerError: it is neither a number nor an expression.
    """
    number = value.item() if isinstance(value, Number) and hasattr(value, "item") else value
    if isinstance(number, (bool, int, float)):
        return number if dtype is None else monoids.number(number, dtype)
    if not isinstance(value, adapter().tir.PrimExpr):
        raise refusal(
            "RC002",
            f"{what} is a {type(value).__name__}, neither a number nor an expression",
            where,
            "write a number, or an expression of elements such as A[i, j]",
        )
    return value


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None) -> Any:
    """Close an epoch into `dst`, or in place.

    `batch` and `annotations` are hints for TileLang's own lowering: they never change a number.
    A number in the place of `dst` is v1's positional batch. A part of a buffer is written as
    `T.copy` takes it: a slice, or the element where it starts.

    Raises:
        ReducerError: `batch` is no whole number of 1 or more, `dst` is no buffer and no part of
            one (RC004), or the part has another shape or dtype than the reducer (RM216).
    """
    where = location()
    traced_reducer = require_reducer(reducer, "finalize_reducer", where)
    if isinstance(dst, int):
        dst, batch = None, dst
    traced_reducer.closed = dst is None
    if not isinstance(batch, int) or batch < 1:
        raise refusal(
            "RC004",
            f"finalize_reducer: batch must be >= 1, got {batch!r}",
            where,
            "leave batch out; it is a hint",
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
        raise refusal(
            "RC002",
            f"{name} got {shown}, which T.alloc_reducer did not make",
            where,
            "allocate it with T.alloc_reducer in this kernel, after importing reducer_compat",
        )
    return found


def choosing(ours: Callable[..., Any], native: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function of the language: `ours`, or TileLang's under mode native where it has v2.

    The mode is read at every call, so that a change of it needs no second install.

    Raises:
        ReducerError: the arguments are not those of the function; also under mode native.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        _check_arguments(ours, args, kwargs)
        if native is None or mode() is not Mode.NATIVE or not adapter().native_v2:
            return ours(*args, **kwargs)
        if ours is reducer_update:
            made = contribution(args, kwargs, location())
            return native(made.buffer[made.indices], made.value)
        return native(*args, **kwargs)

    call.__name__ = ours.__name__
    call.__doc__ = ours.__doc__
    call.__wrapped__ = ours  # type: ignore[attr-defined]
    return call


def _check_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """The names are those of TileLang 0.1.15, so that what is traced here is traced there."""
    signature = _signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name, parameters = function.__name__, ", ".join(signature.parameters)
        raise refusal(
            "RC002", f"{name}: {error}", location(), f"its arguments are {name}({parameters})"
        ) from None


_signature = lru_cache(maxsize=8)(inspect.signature)


def opening(original: Callable[..., Any], form: InitForm) -> Callable[..., Any]:
    """`T.clear` or `T.fill` that opens an epoch where its buffer is a reducer."""

    def call(buffer: Any, *args: Any, **kwargs: Any) -> Any:
        reducer = traced(buffer)
        if reducer is None:
            return original(buffer, *args, **kwargs)
        reducer.closed = False
        where, dtype = location(), str(buffer.dtype)
        value = 0 if form is InitForm.CLEAR else kwargs.get("value", args[0] if args else 0)
        seed = monoids.cast(operand(value, dtype, "the seed", where), dtype)
        return marker.build("init", marker.origin(buffer), form.name, where, seed)

    call.__name__ = getattr(original, "__name__", form.name)
    call.__doc__ = original.__doc__
    call.__wrapped__ = original  # type: ignore[attr-defined]
    return call
