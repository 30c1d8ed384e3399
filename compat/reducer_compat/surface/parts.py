"""A part of a buffer as the destination of a finalize.

    finalize_reducer(acc, B[k, 0:8])      ->      finalize_reducer(acc, whole)
                                                  copy(whole, B[k, 0:8])

The whole is a fragment. Where the part is of a fragment itself, whose layout TileLang cannot tell
from a part, the whole is in shared memory, and a loop over all of the fragment stores the part:

    for i in T.Parallel(16):
        if 8 <= i < 16: out[i] = whole[i - 8]
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.surface.registry import refusal, traced


def finalize(reducer: Any, part: Any, where: str, close: Callable[[Any], Any]) -> Any:
    """The last statement of a finalize into `part`; those before it are added to the kernel.

    Args:
        reducer: its buffer.
        part: a slice of a buffer, or the element where the part starts.
        where: ``file:line`` of the finalize.
        close: the finalize into a whole buffer, as an expression.

    Raises:
        ReducerError: RC004, it is no part of a buffer that more than one thread sees; RM216, its
            shape or dtype is another than the reducer's.
    """
    import tilelang.language as language

    tir = adapter().tir
    if not isinstance(part, (tir.BufferRegion, tir.BufferLoad)):
        raise _refused(f"is a {type(part).__name__}, no buffer and no part of one", where)
    if traced(part.buffer) is not None:
        return close(part.buffer)  # a rule refuses that
    scope = str(part.buffer.scope())
    if scope.startswith("local") and scope != "local.fragment":
        raise _refused(f"is a part of {part.buffer.name}, which is private to a thread", where)
    _check(reducer, part, where)
    shape, dtype = list(reducer.shape), str(reducer.dtype)
    if scope != "local.fragment":
        whole = language.alloc_fragment(shape, dtype)
        adapter().evaluate(close(whole))
        return language.copy(whole, part)
    whole = language.alloc_shared(shape, dtype)
    adapter().evaluate(close(whole))
    return _stored(whole, part)


def _stored(whole: Any, part: Any) -> None:
    """Store shared memory to a part of a fragment."""
    import tilelang.language as language

    starts, extents = _bounds(whole, part)
    with language.Parallel(*part.buffer.shape) as found:
        places = list(found) if len(starts) > 1 else [found]
        inside = [place - start for place, start in zip(places, starts, strict=True)]
        tir = adapter().tir
        within = [
            tir.And(offset >= 0, offset < extent)
            for offset, extent in zip(inside, extents, strict=True)
        ]
        with language.If(functools.reduce(tir.And, within)), language.Then():
            language.buffer_store(part.buffer, whole[tuple(_along(whole, inside, extents))], places)


def _bounds(whole: Any, part: Any) -> tuple[list[Any], list[Any]]:
    """Where a part starts, and how far it goes, along each axis of its buffer.

    A start goes as far as the whole does, along the last axes.
    """
    if isinstance(part, adapter().tir.BufferRegion):
        simplify = adapter().simplify
        return [r.min for r in part.region], [simplify(r.extent) for r in part.region]
    free = len(part.indices) - len(whole.shape)
    return list(part.indices), [*([1] * free), *list(whole.shape)[max(0, -free) :]]


def _along(whole: Any, offsets: list[Any], extents: list[Any]) -> list[Any]:
    """Indices of the whole: its axes, but for those of extent 1, are those of the part in order."""
    moving = iter(
        offset
        for offset, extent in zip(offsets, extents, strict=True)
        if tree.constant(extent) != 1
    )
    return [0 if tree.constant(extent) == 1 else next(moving) for extent in whole.shape]


def _refused(what: str, where: str) -> ReducerError:
    return refusal(
        "RC004",
        f"the destination of finalize_reducer {what}",
        where,
        "finalize into a whole buffer, and store the part from there",
    )


def _check(reducer: Any, part: Any, where: str) -> None:
    """See that a part takes what the reducer has, and that its buffer has the part."""
    have, dtype = str(part.buffer.dtype), str(reducer.dtype)
    if have != dtype:
        raise _mismatch(reducer, f"is {dtype}, and its destination `{part}` is {have}", where)
    starts, extents = _bounds(reducer, part)
    ends = [tree.constant(adapter().simplify(s + e)) for s, e in zip(starts, extents, strict=True)]
    sizes = [tree.constant(extent) for extent in part.buffer.shape]
    beyond = any(
        end is not None and size is not None and end > size
        for end, size in zip(ends, sizes, strict=True)
    )
    if beyond or _without_ones(extents) != _without_ones(reducer.shape):
        shapes = [", ".join(map(str, shape)) for shape in (reducer.shape, part.buffer.shape)]
        what = f"has shape ({shapes[0]}), and its destination is `{part}`, of shape ({shapes[1]})"
        raise _mismatch(reducer, what, where)


def _without_ones(extents: Any) -> list[int | None]:
    found = [tree.constant(extent) for extent in extents]
    return [extent for extent in found if extent != 1]


def _mismatch(reducer: Any, what: str, where: str) -> ReducerError:
    return refusal(
        "RM216",
        f"reducer `{reducer.name}` {what}",
        where,
        "give the destination the dtype and shape of the reducer",
    )
