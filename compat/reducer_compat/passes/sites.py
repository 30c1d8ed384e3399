"""Where reducers are updated: the `T.Parallel` nests, and what is known of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.marker import Marker
from reducer_compat.once import once
from reducer_compat.passes.collect import Reducer, parallel_nest

#: The annotation that fixes the layout of a `T.Parallel` nest, before and after inference.
LAYOUT = "parallel_loop_layout"
#: Bytes that one thread loads at once.
VECTOR_BYTES = 16


@dataclass(frozen=True, slots=True)
class Site:
    """The loop nest of one or more updates.

    Attributes:
        needs_layout: it touches fragments, whose layout TileLang chooses.
        layout_is_open: nothing but copies from memory has a say in that choice, so that we may
            fix the layout of the loop.
        known: what `rows_of` found, by the reducer and the update.
    """

    loop: Any
    updates: tuple[Marker, ...]
    needs_layout: bool
    layout_is_open: bool
    known: dict[tuple[int, int], Rows | None] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Operand:
    """An element that an update reads.

    Attributes:
        axes: the axes of the reducer that its place depends on, as loops of the nest.
        rest: whether its place depends on another loop.
        inner: whether neighbours along the innermost loop are neighbours in memory.
        bytes: the size of an element.
    """

    axes: frozenset[int]
    rest: bool
    inner: bool
    bytes: int


@dataclass(frozen=True, slots=True)
class Rows:
    """How the iterations of a site fall into one row for each output.

    Attributes:
        axes: the loops that are the axes of the reducer, in its order.
        rest: the other loops, outermost first.
        extents: of all the loops of the nest.
        span: the iterations in one row.
        vector: neighbours along the innermost loop that one thread takes, at most.
        exact: rows and members must come out even, as a layout of the loop needs it.
        operands: what the updates read.
    """

    axes: tuple[int, ...]
    rest: tuple[int, ...]
    extents: tuple[int, ...]
    span: int
    vector: int
    exact: bool
    operands: tuple[Operand, ...]

    @property
    def columns(self) -> bool:
        """Whether neighbours along the innermost loop are neighbouring outputs."""
        return bool(self.axes) and self.axes[-1] == len(self.extents) - 1

    @property
    def inner(self) -> int:
        """The extent of the innermost loop."""
        return self.extents[-1]

    def held(self, operand: Operand) -> int:
        """Elements of an operand that all the outputs together read, per iteration."""
        return math.prod(self.extents[axis] for axis in operand.axes)


def rows_of(reducer: Reducer, site: Site, update: Marker) -> Rows | None:
    """The rows of a site, or None where an output is not one row of iterations."""
    if site.needs_layout and not site.layout_is_open:
        return None
    key = hash(reducer.buffer), hash(update.call)
    if key not in site.known:
        site.known[key] = _rows_of(reducer, site, update)
    return site.known[key]


def _rows_of(reducer: Reducer, site: Site, update: Marker) -> Rows | None:
    axes = _output_axes(reducer, site.loop, update)
    if axes is None:
        return None
    nest, _ = parallel_nest(site.loop)
    extents = tuple(tree.constant(loop.extent) for loop in nest)
    known = tuple(extent for extent in extents if extent is not None)
    if len(known) < len(extents):
        return None
    rest = tuple(k for k in range(len(nest)) if k not in axes)
    span = math.prod(known[k] for k in rest)
    operands = _operands(site, nest, axes)
    return Rows(axes, rest, known, span, vector_of(site), site.needs_layout, operands)


def _operands(site: Site, nest: list[Any], axes: tuple[int, ...]) -> tuple[Operand, ...]:
    """What the updates of a site read, each place once."""
    found: list[Any] = []
    for update in site.updates:
        for load in tree.loads(update.args[4]):
            if not any(same_place(load, other) for other in found):
                found.append(load)
    return tuple(_operand(load, nest, axes) for load in found)


def _operand(load: Any, nest: list[Any], axes: tuple[int, ...]) -> Operand:
    used = {
        k
        for index in load.indices
        for var in tree.variables(index)
        for k, loop in enumerate(nest)
        if var.same_as(loop.loop_var)
    }
    last = [var for var in tree.variables(load.indices[-1]) if var.same_as(nest[-1].loop_var)]
    return Operand(
        frozenset(used & set(axes)), bool(used - set(axes)), bool(last), load_bytes(load)
    )


def vector_of(site: Site) -> int:
    """How many neighbours along the innermost loop one thread should take.

    As many as the widest operand fits into one load; 1 where the innermost loop is short.
    """
    nest, _ = parallel_nest(site.loop)
    inner = tree.constant(nest[-1].extent)
    if inner is None:
        return 1
    sizes = [
        load_bytes(load)
        for update in site.updates
        for load in tree.loads(update.args[4])
        if any(var.same_as(nest[-1].loop_var) for var in tree.variables(load.indices[-1]))
    ]
    width = VECTOR_BYTES // max(sizes) if sizes else 1
    while width > 1 and inner % width:
        width //= 2
    return width


def same_place(left: Any, right: Any) -> bool:
    """Whether two loads read one place; structural equality takes any two buffers for equal."""
    equal = adapter().tvm.ir.structural_equal
    return bool(left.buffer.data.same_as(right.buffer.data)) and all(
        equal(one, other) for one, other in zip(left.indices, right.indices, strict=True)
    )


def load_bytes(load: Any) -> int:
    """The bytes of one element that a load reads."""
    return element_bytes(load.buffer)


@once
def element_bytes(buffer: Any) -> int:
    """The bytes of one element of a buffer."""
    dtype = adapter().tvm.DataType(str(buffer.dtype))
    return max(1, int(dtype.bits) // 8)


def _output_axes(reducer: Reducer, loop: Any, update: Marker) -> tuple[int, ...] | None:
    """Which loops of the nest are the axes of the reducer; None if not one to one.

    Only plain loop variables that cover the whole axis from 0 count.
    """
    nest, _ = parallel_nest(loop)
    axes: list[int] = []
    for index, extent in zip(update.args[5:], reducer.shape, strict=True):
        if tree.constant(index) == 0 and extent == 1:
            continue
        axis = next((k for k, one in enumerate(nest) if one.loop_var.same_as(index)), None)
        if axis is None or axis in axes:
            return None
        if tree.constant(nest[axis].extent) != extent or tree.constant(nest[axis].min) != 0:
            return None
        axes.append(axis)
    return tuple(axes)


def find_sites(func: Any) -> tuple[Site, ...]:
    """Every outermost `T.Parallel` nest that holds an update."""
    loops: list[tuple[Any, tuple[Marker, ...]]] = []
    _find(func.body, loops)
    return tuple(_site(func, loop, updates) for loop, updates in loops)


def _find(stmt: Any, loops: list[tuple[Any, tuple[Marker, ...]]]) -> None:
    tir = adapter().tir
    if type(stmt) is tir.For and stmt.kind == tir.ForKind.PARALLEL:
        updates = updates_in(stmt)
        if updates:
            loops.append((stmt, updates))
        return
    for child in tree.children(stmt):
        _find(child, loops)


@once
def updates_in(stmt: Any) -> tuple[Marker, ...]:
    """The updates anywhere under a statement, in program order."""
    markers = [marker.read(inner) for inner in tree.walk(stmt)]
    return tuple(m for m in markers if m is not None and m.kind == "update")


def _site(func: Any, loop: Any, updates: tuple[Marker, ...]) -> Site:
    reads, writes = _fragments(loop)
    open_layout = (
        bool(reads)
        and not writes
        and LAYOUT not in loop.annotations
        and plain_body(loop)
        and all(_only_copied(func, loop, load) for load in reads)
    )
    return Site(loop, updates, bool(reads or writes), open_layout)


def plain_body(loop: Any) -> bool:
    """Whether the nest holds updates and nothing else."""
    _, body = parallel_nest(loop)
    parts = tree.children(body) if type(body) is adapter().tir.SeqStmt else (body,)
    return all(marker.read(part) is not None for part in parts)


def _fragments(loop: Any) -> tuple[list[Any], list[Any]]:
    """The fragment loads and the fragments stored to, under a loop."""
    tir = adapter().tir
    reads: list[Any] = []
    writes: list[Any] = []
    for stmt in tree.walk(loop):
        found = marker.read(stmt)
        if type(stmt) is tir.BufferStore and is_fragment(stmt.buffer):
            writes.append(stmt.buffer)
        exprs = found.args[4:] if found is not None else tree.expressions(stmt)
        for expr in exprs:
            reads += [load for load in tree.loads(expr) if is_fragment(load.buffer)]
    return reads, writes


def _only_copied(func: Any, loop: Any, load: Any) -> bool:
    """Whether a fragment is filled by copies from memory, and read in this loop alone.

    It must be read whole: its axes are distinct loops of the nest that cover it from 0.
    """
    nest, _ = parallel_nest(loop)
    axes = []
    for index, extent in zip(load.indices, load.buffer.shape, strict=True):
        axis = next((k for k, one in enumerate(nest) if one.loop_var.same_as(index)), None)
        if axis is None or axis in axes or tree.constant(nest[axis].min) != 0:
            return False
        if tree.constant(nest[axis].extent) != tree.constant(extent):
            return False
        axes.append(axis)
    return all(
        _is_filling(stmt, load.buffer)
        for stmt in _outside(func.body, loop)
        if mentions(stmt, load.buffer.data)
    )


def _outside(stmt: Any, loop: Any) -> list[Any]:
    if stmt.same_as(loop):
        return []
    return [stmt, *(inner for child in tree.children(stmt) for inner in _outside(child, loop))]


def mentions(stmt: Any, data: Any) -> bool:
    """Whether a statement itself uses a buffer, which its data names."""
    tir = adapter().tir
    if type(stmt) is tir.BufferStore and stmt.buffer.data.same_as(data):
        return True
    inside = [node for expr in tree.expressions(stmt) for node in tree.nodes(expr)]
    used = [load.buffer.data for load in tree.among(inside, "BufferLoad")]
    used += tree.among(inside, "Var", "SizeVar")
    return any(one.same_as(data) for one in used)


def _is_filling(stmt: Any, buffer: Any) -> bool:
    """Whether a statement is a copy from shared or global memory into the whole fragment."""
    if type(stmt) is not adapter().tir.Evaluate or tree.callee(stmt.value) != "tl.tileop.copy":
        return False
    operands = [load.buffer for load in tree.loads(stmt.value)]
    others = [other for other in operands if not other.data.same_as(buffer.data)]
    return bool(others) and not any(str(other.scope()).startswith("local") for other in others)


def is_tile(buffer: Any) -> bool:
    """Whether a buffer is in memory that the threads of a block share."""
    return str(buffer.scope()).startswith("shared")


def is_fragment(buffer: Any) -> bool:
    """Whether a buffer is spread over the registers of many threads."""
    return str(buffer.scope()) == "local.fragment"
