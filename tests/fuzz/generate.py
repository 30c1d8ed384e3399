"""A random kernel from a seed and a number: legal by construction, and exact.

Only `random.Random` is drawn from, seeded with text, so that a seed and a number give the same
kernel on every Python and next to every TileLang; what is kept of a kernel is its description.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.fuzz.expression import (
    Binary,
    Cast,
    Expr,
    InexactError,
    Load,
    Number,
    Result,
    Select,
    Thread,
    Unary,
    Var,
    is_float,
)
from tests.fuzz.kernel import (
    Allocate,
    Array,
    Buffer,
    Clear,
    Close,
    Copy,
    CopyOut,
    If,
    Kernel,
    Loop,
    Open,
    Output,
    Reducer,
    Stmt,
    Store,
    Update,
)
from tests.fuzz.reference import outputs

#: Half of the kernels have nothing but powers of two, which TileLang's own lowering can mostly do.
EVEN_THREADS = {32: 3, 64: 3, 128: 10, 256: 3, 512: 1}
EVEN_AXES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
THREADS = {32: 3, 48: 1, 64: 3, 96: 2, 128: 10, 160: 1, 192: 1, 256: 3, 320: 1, 384: 1, 512: 1}
OPS = {"sum": 50, "max": 16, "min": 12, "prod": 7, "bitand": 4, "bitor": 4, "bitxor": 4}
DTYPES = {
    "float32": 20,
    "float16": 4,
    "bfloat16": 2,
    "float64": 2,
    "int32": 6,
    "int64": 2,
    "int8": 1,
    "int16": 1,
    "uint8": 1,
    "uint32": 1,
}
#: Input dtypes that convert to a reducer's without loss.
NARROWER = {
    "float32": ("float16", "bfloat16", "int8", "int16"),
    "float64": ("float32", "float16", "int32"),
    "int64": ("int32", "int8"),
    "int32": ("int16", "int8", "uint8"),
    "int16": ("int8",),
    "uint32": ("uint8",),
}
AXES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 48, 64, 96, 100, 128, 256)
#: Iterations of one parallel nest, at most.
POINTS = 2048
SITES = 4
#: Ways of an operand to a contribution that need no layout.
LAX_ROUTES = ("global", "shared")

Choice = TypeVar("Choice")


def generate(seed: int, number: int) -> Kernel:
    """Kernel `number` of the stream that `seed` starts."""
    for attempt in itertools.count():
        rng = random.Random(f"{seed}/{number}/{attempt}")
        kernel = _Maker(rng).kernel(f"{seed}-{number}")
        try:
            outputs(kernel)
        except InexactError:
            continue
        return kernel
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class _Nest:
    """What a contribution of one loop nest can mention.

    `scalars` are the variables of the loops around the parallel ones with their extents, `bx`
    first; `axes` the parallel ones; `inner` the serial one inside them, if any.
    """

    scalars: tuple[tuple[str, int], ...]
    axes: tuple[tuple[str, int], ...]
    inner: tuple[tuple[str, int], ...]
    staged: bool

    @property
    def points(self) -> tuple[tuple[str, int], ...]:
        return (*self.axes, *self.inner)


@dataclass
class _Maker:
    rng: random.Random
    even: bool = False
    threads: int = 128
    blocks: int = 1
    sites: int = SITES
    arrays: list[Array] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    reducers: list[Reducer] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    finished: list[Reducer] = field(default_factory=list)
    copies: list[Stmt] = field(default_factory=list)

    # -- choices ----------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self.rng.random() * len(choices))]

    def weighted(self, weights: dict[Choice, float]) -> Choice:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Extents to choose from."""
        return EVEN_AXES if self.even else AXES

    # -- the kernel -------------------------------------------------------------------------------

    def kernel(self, name: str) -> Kernel:
        self.even = self.chance(0.5)
        counts = EVEN_THREADS if self.even else THREADS
        self.threads = self.weighted({count: float(weight) for count, weight in counts.items()})
        arch = self.weighted({"sm_75": 5, "sm_80": 2, "sm_90": 3})
        self.blocks = self.weighted({1: 6, 2: 3, 3: 1})
        left, early, body = self.weighted({1: 5, 2: 3, 3: 2}), [], []
        while left:
            count = 1 + int(self.rng.random() * left)
            before, phase = self.phase(count)
            early += before
            body += phase
            left -= count
        return Kernel(
            name,
            arch,
            self.blocks,
            self.threads,
            tuple(self.arrays),
            tuple(self.buffers),
            tuple(self.reducers),
            tuple(self.outputs),
            (*early, *body),
        )

    def phase(self, count: int) -> tuple[list[Stmt], list[Stmt]]:
        """Epochs that are open together: what goes to the top of the kernel, and the rest."""
        reducers = [self.reducer() for _ in range(count)]
        kind = self.weighted({"": 16, "serial": 2, "range": 1, "unroll": 1, "pipelined": 0.5})
        turns = ("t", 2 + int(self.rng.random() * 2))
        scalars = (("bx", self.blocks), turns) if kind else (("bx", self.blocks),)
        guarded = not kind and self.blocks > 1 and self.chance(0.15)
        allocations: list[Stmt] = [Allocate(reducer.name) for reducer in reducers]
        first = len(self.outputs)
        inside = self.epoch(reducers, scalars, kind == "pipelined")
        if guarded:
            other = tuple(self.filled(output) for output in self.outputs[first:])
            inside = [If(Binary("==", Var("bx"), Number(0)), tuple(inside), other)]
        elif not kind:
            self.finished += reducers
        outside = self.chance(0.4)
        inside = inside if outside else self.allocated(allocations, inside, guarded)
        if kind:
            inside = [Loop(kind, ("t",), (turns[1],), tuple(inside), 2)]
        return (allocations if outside else []), inside

    def allocated(self, allocations: list[Stmt], inside: list[Stmt], guarded: bool) -> list[Stmt]:
        """Put the allocations before an epoch: together, or each before its opening."""
        if guarded or self.chance(0.5):
            return [*allocations, *inside]
        found: list[Stmt] = []
        for stmt in inside:
            found += [Allocate(stmt.reducer)] if isinstance(stmt, Open) else []
            found.append(stmt)
        return found

    def epoch(
        self, reducers: list[Reducer], scalars: tuple[tuple[str, int], ...], pipelined: bool
    ) -> list[Stmt]:
        body: list[Stmt] = [Open(reducer.name) for reducer in reducers]
        body += self.nest(reducers, scalars, pipelined)
        while self.sites > 0 and self.chance(0.3):
            chosen = [reducer for reducer in reducers if self.chance(0.6)] or reducers[:1]
            body += self.nest(chosen, scalars, False)
        closes: list[Stmt] = [Close(reducer.name) for reducer in reducers]
        reads = [self.read(reducer, scalars) for reducer in reducers]
        if self.chance(0.5):
            return [*body, *closes, *(stmt for read in reads for stmt in read)]
        for close, read in zip(closes, reads, strict=True):
            body += [close, *read]
        return body

    def filled(self, output: Output) -> Stmt:
        """Stores that give a whole output some value, where an epoch is skipped."""
        axes = tuple(zip("abcd", output.shape[1:], strict=False))
        indices = (Var("bx"), *(Var(axis) for axis, _ in axes))
        names, extents = tuple(axis for axis, _ in axes), tuple(extent for _, extent in axes)
        return Loop("parallel", names, extents, (Store(output.name, indices, Number(7)),))

    # -- reducers ---------------------------------------------------------------------------------

    def reducer(self) -> Reducer:
        op = self.weighted({name: float(weight) for name, weight in OPS.items()})
        dtype = self.weighted({name: float(weight) for name, weight in DTYPES.items()})
        while op.startswith("bit") and is_float(dtype):
            dtype = self.weighted({name: float(weight) for name, weight in DTYPES.items()})
        seed = self.seed(op, dtype)
        speakable = op in ("max", "min") or (op == "sum" and seed is None)
        found = Reducer(
            f"r{len(self.reducers)}",
            op,
            dtype,
            self.shape(),
            seed,
            speakable and self.chance(0.92),
            int(self.rng.random() * 3),
            int(self.rng.random() * 27),
            self.weighted({1: 14, 2: 2, 3: 1, 4: 1, 8: 1}),
            self.chance(0.5),
        )
        self.reducers.append(found)
        return found

    def shape(self) -> tuple[int, ...]:
        rank = self.weighted({1: 70, 2: 22, 3: 6, 4: 2})
        if rank == 1:
            wide = {} if self.even else {512: 0.5, 1024: 0.5}
            scalar = len(self.sizes) / 2
            return (self.weighted({1: scalar, **dict.fromkeys(self.sizes[1:], 1.0), **wide}),)
        most = {2: 32, 3: 8, 4: 4}[rank]
        sizes = [size for size in self.sizes if size <= most]
        return tuple(self.pick(sizes) for _ in range(rank))

    def seed(self, op: str, dtype: str) -> Expr | None:
        if self.chance(0.7):
            return None
        if op == "prod":
            return Number(2)
        if op.startswith("bit"):
            return Number(5)
        if self.chance(0.3):
            array = self.array((("bx", self.blocks),), dtype, self.values(dtype))
            return Load(array.name, (Var("bx"),))
        return Number(self.pick((0, 0, 1, 3) if dtype.startswith("u") else (0, 0, 1, 3, -2)))

    # -- nests ------------------------------------------------------------------------------------

    def nest(
        self, reducers: list[Reducer], scalars: tuple[tuple[str, int], ...], pipelined: bool
    ) -> list[Stmt]:
        """Loops, copies into tiles, and a parallel nest that updates `reducers`."""
        depth = self.weighted({0: 5, 1: 4, 2: 1})
        around = [
            self.around(name, not pipelined and place == depth - 1)
            for place, name in enumerate(("k", "m")[:depth])
        ]
        staged = pipelined or any(loop.kind == "pipelined" for loop in around)
        scalars += tuple((loop.variables[0], loop.extents[0]) for loop in around)
        axes = self.axes(self.pick(reducers))
        inner = (("u", 2 + int(self.rng.random() * 3)),) if self.chance(0.15) else ()
        nest = _Nest(scalars, axes, inner, staged)
        self.copies = []
        body = self.body(reducers, nest)
        before, after = self.beside(nest, body)
        inside: list[Stmt] = [*self.copies, self.parallel(nest, body)]
        for loop in reversed(around):
            inside = [replace(loop, body=tuple(inside))]
        return [*before, *inside, *after]

    def around(self, name: str, innermost: bool) -> Loop:
        """A loop around a parallel nest; pipelines are not nested."""
        kinds = {"serial": 4.0, "unroll": 2.0, "range": 2.0}
        kind = self.weighted({**kinds, "pipelined": 4.0} if innermost else kinds)
        return Loop(kind, (name,), (2 + int(self.rng.random() * 4),), (), self.pick((1, 2, 2, 3)))

    def parallel(self, nest: _Nest, body: list[Stmt]) -> Loop:
        kind = "nested" if len(nest.axes) > 1 and self.chance(0.1) else "parallel"
        names, extents = zip(*nest.axes, strict=True)
        return Loop(kind, names, extents, tuple(body))

    def axes(self, reducer: Reducer) -> tuple[tuple[str, int], ...]:
        """Parallel axes: mostly one for each axis of a reducer, and those to reduce over."""
        extents = [extent for extent in reducer.shape if extent > 1 and self.chance(0.85)]
        for _ in range(self.weighted({0: 1, 1: 6, 2: 2})):
            extents.append(self.pick(self.sizes))
        extents = extents[:4] or [self.pick(self.sizes)]
        if self.chance(0.25):
            self.rng.shuffle(extents)
        while math.prod(extents) > POINTS:
            largest = extents.index(max(extents))
            extents[largest] = extents[largest] // 2
        return tuple(zip("ijpq", extents, strict=False))

    def body(self, reducers: list[Reducer], nest: _Nest) -> list[Stmt]:
        found: list[Stmt] = []
        for reducer in reducers:
            for _ in range(2 if self.sites > 1 and self.chance(0.12) else 1):
                found.append(self.guarded(reducer, nest))
        if nest.inner:
            kind = self.pick(("serial", "serial", "unroll", "range"))
            (name, extent) = nest.inner[0]
            cut = int(self.rng.random() * len(found))
            found = [*found[:cut], Loop(kind, (name,), (extent,), tuple(found[cut:]))]
        return self.in_scope(found, nest)

    def in_scope(self, body: list[Stmt], nest: _Nest) -> list[Stmt]:
        """Updates that stayed outside the inner loop do not mention its variable."""
        if not nest.inner:
            return body
        name = nest.inner[0][0]
        return [stmt if isinstance(stmt, Loop) else _replaced_variable(stmt, name) for stmt in body]

    def guarded(self, reducer: Reducer, nest: _Nest) -> Stmt:
        """An update, perhaps under a condition, perhaps with another in the other arm."""
        update: Stmt = self.update(reducer, nest)
        if not self.chance(0.3):
            return update
        other: tuple[Stmt, ...] = ()
        if self.sites > 0 and self.chance(0.2):
            other = (self.update(reducer, nest),)
        condition = self.condition(nest)
        if self.chance(0.15):
            update = If(self.condition(nest), (update,))
        return If(condition, (update,), other)

    def condition(self, nest: _Nest) -> Expr:
        name, extent = self.pick(nest.axes)
        other, _ = self.pick(nest.axes)
        scalar, _ = self.pick(nest.scalars)
        kind = self.weighted({"below": 4, "parity": 2, "order": 1, "data": 3, "uniform": 1})
        if kind == "below":
            return Binary("<", Var(name), Number(max(1, int(extent * self.rng.random()))))
        if kind == "parity":
            total = Binary("+", Var(name), Var(self.pick((other, scalar))))
            return Binary("==", Binary("%", total, Number(2)), Number(0))
        if kind == "order":
            return Binary("<=", Var(name), Var(other) if other != name else Var(scalar))
        if kind == "data":
            operand = self.operand("float32", nest, (-2, -1, 0, 1, 2))
            return Binary(">", operand, Number(0))
        return Binary("==", Var(scalar), Number(0))

    def update(self, reducer: Reducer, nest: _Nest) -> Update:
        self.sites -= 1
        indices = self.indices(reducer, nest)
        form, bound = int(self.rng.random() * 8), self.chance(0.2)
        return Update(reducer.name, indices, self.contribution(reducer, nest), form, bound)

    # -- indices ----------------------------------------------------------------------------------

    def indices(self, reducer: Reducer, nest: _Nest) -> tuple[Expr, ...]:
        taken: set[str] = set()
        found = []
        for extent in reducer.shape:
            index = self.index(extent, nest, taken, len(reducer.shape) > 1)
            taken |= {index.name} if isinstance(index, Var) else set()
            found.append(index)
        return tuple(found)

    def index(self, extent: int, nest: _Nest, taken: set[str], several: bool) -> Expr:
        """An index below `extent`: most often an axis that has just this extent.

        Where there are several indices none is a sum of axes: TVM simplifies `(i + j) % n` wrongly
        where `j` occurs beside it (see test_fuzz_limits.py).
        """
        plain = [name for name, size in nest.axes if size == extent and name not in taken]
        if extent == 1 and self.chance(0.85):
            return Number(0)
        if plain and self.chance(0.75):
            return Var(self.pick(plain))
        name, size = self.pick(nest.axes)
        kinds = {"constant": 2.0, "axis": 3.0, "scalar": 2.0, "data": 0.5, "inner": 0.5}
        kind = self.weighted(kinds if several else {**kinds, "sum": 1.0})
        if kind == "constant":
            return Number(int(self.rng.random() * extent))
        if kind == "sum":
            other, _ = self.pick(nest.axes)
            return Binary("%", Binary("+", Var(name), Var(other)), Number(extent))
        if kind == "data":
            array = self.array(nest.axes[:2], "int32", tuple(range(extent)))
            return Load(array.name, tuple(Var(axis) for axis, _ in nest.axes[:2]))
        if kind in ("scalar", "inner"):
            name, size = self.pick(nest.inner or nest.scalars if kind == "inner" else nest.scalars)
        return self.fitted(name, size, extent)

    def fitted(self, name: str, size: int, extent: int) -> Expr:
        """A variable below `size` as an index below `extent`."""
        if size <= extent:
            return Var(name)
        share = -(-size // extent)
        shorter = Binary("//", Var(name), Number(max(1, share - 1)))
        return self.pick(
            (
                Binary("%", Var(name), Number(extent)),
                Binary("//", Var(name), Number(share)),
                Binary("min", Number(extent - 1), shorter),
            )
        )

    # -- operands ---------------------------------------------------------------------------------

    def array(self, axes: Sequence[tuple[str, int]], dtype: str, values: tuple[int, ...]) -> Array:
        shape = tuple(extent for _, extent in axes)
        seed = int(self.rng.random() * 2**31)
        found = Array(f"A{len(self.arrays)}", shape, dtype, values, seed)
        self.arrays.append(found)
        return found

    def values(self, dtype: str, op: str = "sum") -> tuple[int, ...]:
        """What elements may be, so that sums stay exact."""
        unsigned = dtype.startswith("u")
        if op == "prod":
            return (*((1,) * 40), *((1,) if unsigned else (-1,) * 4), 2)
        if op.startswith("bit"):
            return (15, 13, 7, 9, 5, 12, 3, 127)
        if dtype in ("float16", "bfloat16", "int8", "uint8"):
            return (0, 0, 0, 1, 2) if unsigned else (0, 0, 0, 1, -1, 2)
        return (0, 1, 2, 3) if unsigned else (-4, -3, -2, -1, 0, 1, 2, 3, 4)

    def operand(self, dtype: str, nest: _Nest, values: tuple[int, ...]) -> Expr:
        """A new input, perhaps through a tile, read as `dtype`."""
        held = dtype if self.chance(0.6) else self.pick(NARROWER.get(dtype, (dtype,)))
        axes = [axis for axis in nest.axes if self.chance(0.85)] or [self.pick(nest.axes)]
        if self.chance(0.2):
            self.rng.shuffle(axes)
        scalars = [scalar for scalar in nest.scalars if self.chance(0.75)]
        routes = {"global": 4.0, "shared": 3.0, "fragment": 2.0, "both": 1.0}
        if nest.staged and not self.copies:
            routes = {"shared": 3.0, "both": 1.0}
        if not self.laid_out([extent for _, extent in axes], nest):
            routes = {name: weight for name, weight in routes.items() if name in LAX_ROUTES}
        route = self.weighted(routes)
        if route == "global":
            axes = [*axes, *(axis for axis in nest.inner if self.chance(0.6))]
        array = self.array((*scalars, *axes), held, values)
        leading = tuple(Var(name) for name, _ in scalars)
        indices: tuple[Expr, ...] = tuple(Var(name) for name, _ in axes)
        name = array.name
        if route == "global":
            indices = (*leading, *indices)
        else:
            name = self.staged(array, leading, tuple(extent for _, extent in axes), route)
        raw = held == dtype or (is_float(held) == is_float(dtype) and self.chance(0.2))
        return Load(name, indices, "" if raw else dtype, self.chance(0.5))

    def laid_out(self, shape: Sequence[int], nest: _Nest) -> bool:
        """Whether TileLang is likely to find layouts for a fragment and the loop around it.

        Now and then a shape that it may refuse is let through.
        """
        sizes = (math.prod(shape), math.prod(extent for _, extent in nest.axes))
        even = all(size % self.threads == 0 or self.threads % size == 0 for size in sizes)
        return even or self.chance(0.06)

    def staged(
        self, array: Array, leading: tuple[Expr, ...], shape: tuple[int, ...], route: str
    ) -> str:
        """Copy the part of an array at `leading` into a tile; the name of the tile."""
        first = Buffer(
            f"{array.name}_{'f' if route == 'fragment' else 's'}",
            shape,
            array.dtype,
            "fragment" if route == "fragment" else "shared",
        )
        self.buffers.append(first)
        start = (*leading, *(Number(0) for _ in shape))
        sliced = bool(leading) or self.chance(0.5)
        self.copies.append(Copy(array.name, start, first.name, sliced))
        if route != "both":
            return first.name
        second = Buffer(f"{array.name}_f", shape, array.dtype, "fragment")
        self.buffers.append(second)
        self.copies.append(Copy(first.name, (), second.name, False))
        return second.name

    # -- contributions ----------------------------------------------------------------------------

    def contribution(self, reducer: Reducer, nest: _Nest) -> Expr:
        op, dtype = reducer.op, reducer.dtype
        values = self.values(dtype, op)

        def operand() -> Expr:
            return self.operand(dtype, nest, values)

        if op == "prod":
            return operand()
        if op.startswith("bit"):
            return operand()
        kinds = {"load": 8, "product": 3, "plus": 2, "select": 2, "larger": 1, "count": 1}
        kinds |= {"constant": 1, "index": 1, "two": 1}
        if not dtype.startswith("u"):
            kinds |= {"negative": 2, "minus": 1, "result": 4}
        if is_float(dtype):
            kinds["absolute"] = 1
        kind = self.weighted({name: float(weight) for name, weight in kinds.items()})
        if kind == "constant":
            return Number(self.pick((1, 1, 2)))
        if kind == "index":
            return Cast(dtype, Var(self.pick((*nest.points, *nest.scalars))[0]))
        if kind == "count":
            return Cast(dtype, Binary(">", self.operand("float32", nest, (-1, 0, 1)), Number(0)))
        first = _typed(operand(), dtype)
        if kind == "result":
            return self.against_result(first, dtype, nest)
        return self.combined(kind, first, dtype, operand)

    def combined(self, kind: str, first: Expr, dtype: str, operand: object) -> Expr:
        assert callable(operand)
        if kind == "negative":
            return Unary("-", first, dtype)
        if kind == "absolute":
            return Unary("abs", first, dtype)
        if kind == "plus":
            return Binary("+", first, Number(self.pick((1, 2))), dtype)
        if kind == "select":
            return Select(Binary(">", first, Number(0)), first, Number(0))
        signs = {"product": "*", "larger": "max", "two": "+", "minus": "-"}
        if kind in signs:
            return Binary(signs[kind], first, _typed(operand(), dtype), dtype)
        return first

    def against_result(self, first: Expr, dtype: str, nest: _Nest) -> Expr:
        """A contribution that reads a reducer finalized before."""
        done = [reducer for reducer in self.finished if reducer.dtype == dtype]
        if not done:
            return first
        reducer = self.pick(done)
        places = tuple(
            self.fitted(*self.pick(nest.axes), extent) if extent > 1 else Number(0)
            for extent in reducer.shape
        )
        return Binary("-", first, Result(reducer.name, places), dtype)

    # -- ordinary writes and reads ----------------------------------------------------------------

    def beside(self, nest: _Nest, body: list[Stmt]) -> tuple[list[Stmt], list[Stmt]]:
        """Add an ordinary fragment write to a parallel body; what goes before and after."""
        if not self.chance(0.3) or not self.laid_out([extent for _, extent in nest.axes], nest):
            return [], []
        names, extents = zip(*nest.axes, strict=True)
        buffer = Buffer(f"F{len(self.buffers)}", extents, "float32", "fragment")
        self.buffers.append(buffer)
        indices = tuple(Var(name) for name in names)
        held = self.operand("float32", replace(nest, inner=()), (-2, -1, 0, 1, 2))
        augmented = self.chance(0.4)
        stored = Store(buffer.name, indices, _typed(held, "float32"), augmented)
        body.insert(int(self.rng.random() * (len(body) + 1)), stored)
        leading = tuple(nest.scalars[: 2 if nest.scalars[1:2] and nest.scalars[1][0] == "t" else 1])
        output = self.output(leading, extents, "float32")
        copied = CopyOut(buffer.name, output.name, tuple(Var(name) for name, _ in leading))
        return [Clear(buffer.name)], [copied]

    def output(
        self, leading: Sequence[tuple[str, int]], shape: tuple[int, ...], dtype: str
    ) -> Output:
        extents = (*(extent for _, extent in leading), *shape)
        found = Output(f"O{len(self.outputs)}", extents, dtype)
        self.outputs.append(found)
        return found

    def read(self, reducer: Reducer, scalars: tuple[tuple[str, int], ...]) -> list[Stmt]:
        """One read of a result."""
        output = self.output(scalars, reducer.shape, reducer.dtype)
        leading = tuple(Var(name) for name, _ in scalars)
        size = math.prod(reducer.shape)
        kinds = {"copy": 5.0, "parallel": 4.0}
        if size <= 4:
            kinds |= {"scalar": 2.0, "thread": 2.0}
        kind = self.weighted(kinds)
        if kind == "copy":
            return [CopyOut(reducer.name, output.name, leading)]
        if kind == "parallel":
            axes = tuple("abcd"[: len(reducer.shape)])
            places = tuple(Var(axis) for axis in axes)
            shown = self.shown(reducer, places)
            return [
                Loop(
                    "parallel",
                    axes,
                    reducer.shape,
                    (Store(output.name, (*leading, *places), shown),),
                )
            ]
        elements = [
            tuple(Number(index) for index in place)
            for place in itertools.product(*map(range, reducer.shape))
        ]
        stores: list[Stmt] = [
            Store(output.name, (*leading, *place), self.shown(reducer, place)) for place in elements
        ]
        if kind == "thread":
            return [If(Binary("==", Thread(), Number(0)), tuple(stores))]
        return stores

    def shown(self, reducer: Reducer, places: tuple[Expr, ...]) -> Expr:
        """A result as it is written out."""
        result = Result(reducer.name, places)
        wraps = not is_float(reducer.dtype) and reducer.dtype not in ("int32", "int64")
        if wraps or self.chance(0.5):
            return result
        if self.chance(0.5):
            return Binary("*", result, Number(2), reducer.dtype)
        return Binary("+", result, Number(1), reducer.dtype)


def _typed(expr: Expr, dtype: str) -> Expr:
    """A load that is converted before it is computed with."""
    return replace(expr, dtype=dtype) if isinstance(expr, Load) else expr


def _replaced_variable(stmt: Stmt, name: str) -> Stmt:
    """A statement with 0 in the place of a variable."""
    from tests.fuzz.shrink import substituted

    return substituted(stmt, name, Number(0))
