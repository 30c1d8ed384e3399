"""Inclusive scans (`T.cumsum`, `T.cummax`): one warp walks a line in segments of its own width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import access
from ..dtypes import cast, is_float
from ..memory import Pointer
from ..program import Value
from ..report import UnsupportedError
from ..wave import Wave
from .registry import Extern, extern
from .warp import shuffle

if TYPE_CHECKING:
    from ..compile import Compiler

_SEGMENT = 32


@dataclass(frozen=True)
class _Scan:
    combine: Callable[[Any, Any], Any]
    maximum: bool
    reverse: bool

    def identity(self, dtype: np.dtype[Any]) -> Any:
        if not self.maximum:
            return dtype.type(0)
        if is_float(dtype):
            return cast(np.float64(-np.inf), dtype)
        return dtype.type(np.iinfo(dtype).min)


def _line(
    wave: Wave, scan: _Scan, source: Pointer, target: Pointer, extent: int, step: Any
) -> None:
    """Scans `extent` elements, `step` (source, target) apart, with the lanes of each warp."""
    dtype = source.dtype
    assert dtype is not None
    lane = wave.tid % wave.m.warp
    carry: Any = np.full(wave.n, scan.identity(dtype), dtype)
    count = -(-extent // _SEGMENT)
    for segment in reversed(range(count)) if scan.reverse else range(count):
        index = segment * _SEGMENT + lane
        value = np.full(wave.n, scan.identity(dtype), dtype)
        inside = index < extent
        here = wave if inside.all() else wave.sub(inside)
        origin, place = source.take(inside), target.take(inside)
        value[inside] = access.load(here, origin, index[inside] * step[0], dtype, None)
        value = scan.combine(_segment(wave, scan, value, lane), carry)
        access.store(here, place, index[inside] * step[1], dtype, None, value[inside])
        carry = shuffle(wave, "", value, 0 if scan.reverse else _SEGMENT - 1)


def _segment(wave: Wave, scan: _Scan, value: Any, lane: Any) -> Any:
    distance = 1
    while distance < _SEGMENT:
        other = shuffle(wave, "down" if scan.reverse else "up", value, distance)
        takes = lane < _SEGMENT - distance if scan.reverse else lane >= distance
        value = np.where(takes, scan.combine(value, other), value)
        distance *= 2
    return value


def _run(wave: Wave, chosen: Any, action: Callable[[Wave], None]) -> None:
    if chosen.all():
        action(wave)
    elif chosen.any():
        action(wave.sub(chosen))


def _one_dimension(c: Compiler, scan: _Scan, args: Any) -> Value:
    source, target, extent = (c.expr(a) for a in args)

    def line(w: Wave) -> None:
        length = int(np.asarray(extent(w)).flat[0])
        if length > 0:
            _line(w, scan, source(w), target(w), length, (1, 1))

    return lambda w: _run(w, w.tid < _SEGMENT, line)


def _two_dimensions(c: Compiler, scan: _Scan, threads: int, axis: int, args: Any) -> Value:
    source, target, *sizes = (c.expr(a) for a in args)
    per_round = threads // _SEGMENT

    def run(w: Wave) -> None:
        height, width, *strides = (int(np.asarray(s(w)).flat[0]) for s in sizes)
        steps = (strides[0], strides[1]) if strides else (width, width)
        lines, extent = (height, width) if axis == 1 else (width, height)
        between, along = (steps, (1, 1)) if axis == 1 else ((1, 1), steps)
        for first in range(0, lines, per_round):
            takes = first + w.tid // _SEGMENT < lines
            _run(w, takes, partial(one, first=first, extent=extent, between=between, along=along))

    def one(w: Wave, first: int, extent: int, between: Any, along: Any) -> None:
        line = first + w.tid // _SEGMENT
        src, dst = source(w), target(w)
        assert src.dtype is not None
        size = src.dtype.itemsize
        _line(
            w,
            scan,
            src.shifted(line * between[0] * size),
            dst.shifted(line * between[1] * size),
            extent,
            along,
        )

    return run


def _build(c: Compiler, call: Extern, maximum: bool, skip: int) -> Value:
    if call.method != "run":
        raise UnsupportedError(f"the function {call.text}")
    flat = call.name.endswith("1D")
    flag = (
        call.templates[skip + (1 if flat else 2)]
        if len(call.templates) > skip + (1 if flat else 2)
        else "false"
    )
    scan = _Scan(np.fmax if maximum else (lambda a, b: a + b), maximum, flag == "true")
    if flat:
        return _one_dimension(c, scan, call.args)
    return _two_dimensions(c, scan, call.integer(skip), call.integer(skip + 1, 0), call.args)


@extern("tl::CumSum1D", "tl::CumSum2D")
def _cumsum(c: Compiler, call: Extern) -> Value:
    return _build(c, call, False, 0)


@extern("tl::CumMax1D", "tl::CumMax2D")
def _cummax(c: Compiler, call: Extern) -> Value:
    return _build(c, call, True, 0)


@extern("tl::InclusiveScan1D", "tl::InclusiveScan2D")
def _inclusive(c: Compiler, call: Extern) -> Value:
    reducers = {"tl::ScanSumOp": False, "tl::ScanMaxOp": True}
    if not call.templates or call.templates[0] not in reducers:
        raise UnsupportedError(f"the function {call.text}")
    return _build(c, call, reducers[call.templates[0]], 1)
