"""The outputs of a kernel in numpy, from its description alone: no compiler is involved.

Every contribution is counted once, in whatever order; a description whose sums could depend on
that order is refused (`InexactError`), so that what a compiler makes of it has to be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.expression import (
    EXACT,
    IllegalError,
    InexactError,
    Memory,
    Scope,
    is_float,
    places,
    require_inside,
    value,
)
from tests.fuzz.kernel import (
    Clear,
    Close,
    Copy,
    CopyOut,
    If,
    Kernel,
    Loop,
    Open,
    Reducer,
    Stmt,
    Store,
    Update,
    numpy_dtype,
)

_COMBINE: dict[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}
#: The greatest power of two that a product may reach.
_POWERS = {"float16": 14, "bfloat16": 100, "float32": 100, "float64": 500}


def working(dtype: str) -> Any:
    """The numpy dtype in which values of `dtype` are computed."""
    return np.dtype(np.float64 if is_float(dtype) else np.int64)


def identity(op: str, dtype: str) -> float | int:
    """The identity of an operation."""
    if op == "prod":
        return 1
    if op in ("sum", "bitor", "bitxor"):
        return 0
    if op == "bitand":
        return -1
    if is_float(dtype):
        return float("-inf") if op == "max" else float("inf")
    bounds = np.iinfo(numpy_dtype(dtype))
    return int(bounds.min if op == "max" else bounds.max)


@dataclass
class _Epoch:
    """An open epoch: what is combined so far, and what tells whether the order matters."""

    reducer: Reducer
    content: np.ndarray
    mass: np.ndarray

    @classmethod
    def opened(cls, reducer: Reducer, seed: Any) -> _Epoch:
        if reducer.op.startswith("bit") and is_float(reducer.dtype):
            raise IllegalError("a bitwise reducer of floats")
        start = identity(reducer.op, reducer.dtype) if seed is None else seed
        content = np.full(reducer.shape, start, working(reducer.dtype))
        epoch = cls(reducer, content, np.zeros(reducer.shape))
        if seed is not None:
            epoch.weigh(tuple(np.zeros(1, int) for _ in reducer.shape), np.full(1, seed))
            epoch.mass[...] = epoch.mass.max()
        return epoch

    def weigh(self, places: tuple[np.ndarray, ...], values: np.ndarray) -> None:
        """Add up how far the total could get on the way."""
        sizes = np.abs(values).astype(np.float64)
        if self.reducer.op == "prod":
            if (sizes < 1).any() or (np.log2(sizes) % 1).any():
                raise InexactError("a product of anything but powers of two")
            sizes = np.log2(sizes)
        np.add.at(self.mass, places, sizes)

    def combine(self, places: tuple[np.ndarray, ...], values: np.ndarray) -> None:
        require_inside(self.reducer.name, places, self.reducer.shape)
        self.weigh(places, values)
        _COMBINE[self.reducer.op].at(self.content, places, values.astype(self.content.dtype))

    def closed(self) -> np.ndarray:
        """The result, in the arithmetic of its dtype."""
        op, dtype = self.reducer.op, self.reducer.dtype
        if is_float(dtype) and op in ("sum", "prod"):
            limit = EXACT[dtype] if op == "sum" else _POWERS[dtype]
            if self.mass.max() > limit:
                raise InexactError(f"a {op} that does not fit {dtype}")
        if op in ("sum", "prod") and not is_float(dtype):
            _unless_hidden(op, self.mass)
        return self.content if is_float(dtype) else _wrapped(self.content, dtype)


def _unless_hidden(op: str, mass: np.ndarray) -> None:
    """Integers wrap as they do on a GPU, but not in the integers that are computed with here."""
    if mass.max() > (2**62 if op == "sum" else 62):
        raise InexactError("an integer that does not fit 64 bits on the way")


def _wrapped(content: np.ndarray, dtype: str) -> np.ndarray:
    return content.astype(numpy_dtype(dtype)).astype(np.int64)


def outputs(kernel: Kernel) -> tuple[np.ndarray, ...]:
    """What the kernel writes to each output, as float64 or int64.

    Raises:
        InexactError: the result depends on rounding, on overflow or on the order of a sum.
        IllegalError: the kernel is none that anyone may write.
    """
    run = _Run(kernel)
    for block in range(kernel.blocks):
        run.fresh_block()
        run.block(kernel.body, Scope({"bx": np.full(1, block)}, run.memory, 1))
        if run.epochs:
            raise IllegalError(f"{min(run.epochs)} is not finalized")
    return tuple(run.whole(output.name) for output in kernel.outputs)


class _Run:
    """The memory of a run and the epochs that are open."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.memory = Memory()
        self.epochs: dict[str, _Epoch] = {}
        for array in kernel.arrays:
            self.memory.hold(array.name, array.content().astype(working(array.dtype)), True)
        for output in kernel.outputs:
            self.memory.hold(output.name, np.zeros(output.shape, working(output.dtype)), False)

    def fresh_block(self) -> None:
        """Forget what is private to a block."""
        for buffer in self.kernel.buffers:
            self.memory.hold(buffer.name, np.zeros(buffer.shape, working(buffer.dtype)), False)
        for reducer in self.kernel.reducers:
            self.memory.contents.pop(reducer.name, None)

    def whole(self, name: str) -> np.ndarray:
        if self.memory.missing[name].any():
            raise IllegalError(f"{name} is not written whole")
        return self.memory.contents[name]

    def block(self, body: Sequence[Stmt], scope: Scope) -> None:
        for stmt in body:
            if scope.count:
                self._statement(stmt, scope)

    def _statement(self, stmt: Stmt, scope: Scope) -> None:
        if isinstance(stmt, Loop):
            self._loop(stmt, scope)
        elif isinstance(stmt, If):
            mask = np.asarray(value(stmt.condition, scope), bool)
            self.block(stmt.then, scope.under(mask))
            self.block(stmt.other, scope.under(~mask))
        elif isinstance(stmt, Open):
            self._open(stmt, scope)
        elif isinstance(stmt, Close):
            closed = self._epoch(stmt.reducer).closed()
            del self.epochs[stmt.reducer]
            self.memory.hold(stmt.reducer, closed, True)
        elif isinstance(stmt, Update):
            where = places(stmt.indices, scope)
            self._epoch(stmt.reducer).combine(where, value(stmt.value, scope))
        elif isinstance(stmt, Store):
            self._store(stmt, scope)
        elif isinstance(stmt, Clear):
            content = self.memory.contents[stmt.buffer]
            self.memory.hold(stmt.buffer, np.zeros_like(content), True)
        elif isinstance(stmt, Copy):
            self._copy(stmt, scope)
        elif isinstance(stmt, CopyOut):
            self._copy_out(stmt, scope)

    def _epoch(self, name: str) -> _Epoch:
        if name not in self.epochs:
            raise IllegalError(f"{name} is not open")
        return self.epochs[name]

    def _loop(self, stmt: Loop, scope: Scope) -> None:
        if not stmt.parallel:
            for turn in range(stmt.extents[0]):
                here = {**scope.variables, stmt.variables[0]: np.full(scope.count, turn)}
                self.block(stmt.body, Scope(here, self.memory, scope.count))
            return
        points = int(np.prod(stmt.extents))
        axes = np.indices(stmt.extents).reshape(len(stmt.extents), points)
        here = {name: np.repeat(held, points) for name, held in scope.variables.items()}
        named = zip(stmt.variables, axes, strict=True)
        here |= {name: np.tile(axis, scope.count) for name, axis in named}
        self.block(stmt.body, Scope(here, self.memory, scope.count * points))

    def _open(self, stmt: Open, scope: Scope) -> None:
        if stmt.reducer in self.epochs:
            raise IllegalError(f"{stmt.reducer} is opened twice")
        reducer = self.kernel.reducer(stmt.reducer)
        seed = None if reducer.seed is None else value(reducer.seed, scope)[0]
        self.memory.contents.pop(stmt.reducer, None)
        self.epochs[stmt.reducer] = _Epoch.opened(reducer, seed)

    def _store(self, stmt: Store, scope: Scope) -> None:
        where, stored = places(stmt.indices, scope), value(stmt.value, scope)
        if stmt.augmented:
            stored = self.memory.load(stmt.buffer, where) + stored
        self.memory.store(stmt.buffer, where, stored)
        if np.abs(stored[np.isfinite(stored)]).max(initial=0) > EXACT[self._dtype(stmt.buffer)]:
            raise InexactError(f"{stmt.buffer} does not fit its dtype")

    def _dtype(self, name: str) -> str:
        return self.kernel.named(name).dtype

    def _copy(self, stmt: Copy, scope: Scope) -> None:
        source = self.memory.contents[stmt.source]
        shape = self.kernel.shape_of(stmt.target)
        start = [int(index[0]) for index in places(stmt.start, scope)] or [0] * source.ndim
        leading = len(start) - len(shape)
        if leading < 0 or len(start) != source.ndim:
            raise IllegalError(f"{stmt.target} is no tile of {stmt.source}")
        ends = zip(start[leading:], shape, strict=True)
        window: Any = (*start[:leading], *(slice(first, first + extent) for first, extent in ends))
        if self.memory.missing[stmt.source][window].any():
            raise IllegalError(f"{stmt.source} is copied before it is written")
        inside = source[window]
        target = np.zeros(shape, source.dtype)
        target[tuple(slice(0, extent) for extent in inside.shape)] = inside
        self.memory.hold(stmt.target, target, True)

    def _copy_out(self, stmt: CopyOut, scope: Scope) -> None:
        if stmt.source not in self.memory.contents or self.memory.missing[stmt.source].any():
            raise IllegalError(f"{stmt.source} is copied before it is written")
        place = tuple(int(index[0]) for index in places(stmt.start, scope))
        content = self.memory.contents[stmt.source]
        if self.memory.contents[stmt.output][place].shape != content.shape:
            raise IllegalError(f"{stmt.source} does not fit {stmt.output}")
        self.memory.contents[stmt.output][place] = content
        self.memory.missing[stmt.output][place] = False
