"""What should be counted: the epochs of a kernel, read from its markers as its author wrote them.

There are no threads here: every iteration of a `T.Parallel` loop happens once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reducer_compat import marker
from reducer_compat.adapter import adapter
from reducer_compat.passes.prove import tags
from reducer_compat.passes.prove.expr import Code, Run, Scope
from reducer_compat.passes.prove.lanes import Array, Lanes
from reducer_compat.passes.prove.layouts import Tables, row_major
from reducer_compat.passes.prove.lengths import lengths
from reducer_compat.passes.prove.machine import Machine, Memory, NotCountedError, among
from reducer_compat.passes.prove.mirror import (
    constant,
    mirror,
    read_marker,
    variables,
)
from reducer_compat.passes.prove.nodes import (
    NOTHING,
    Binding,
    Branch,
    Effects,
    Finalize,
    Loop,
    Name,
    Node,
    Sequence,
    Write,
)
from reducer_compat.passes.prove.program import sequence
from reducer_compat.passes.prove.values import Store, Value, compile_value
from reducer_compat.passes.prove.weights import ZERO
from reducer_rules.monoid import Op

#: Longer loops around `T.Parallel` loops are counted for their first and last iteration.
MOST_ITERATIONS = 4


@dataclass(frozen=True, slots=True)
class Site:
    """An update or a seed: `loops` are the names of the variables around it."""

    number: int
    what: str
    reducer: str
    op: Op
    location: str
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class End:
    """A finalize."""

    number: int
    reducer: str
    op: Op
    location: str
    shape: tuple[int, ...]
    target: int

    @property
    def outputs(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel as its author wrote it.

    Attributes:
        memories: of each reducer, by the data variable of its buffer: one slot for each output.
        indexed_by_data: whether which output is updated depends on data.
        turns: whether there is a `while`, which is counted for one turn.
        lengths: the data variables of the tensors that say how long loops are.
        expected: what was found to be expected of it, for `count`, by the assumption.
        tables: the layouts that were met in what became of it.
    """

    body: Node
    sites: dict[int, Site]
    ends: dict[int, End]
    memories: dict[int, Memory]
    blocks: dict[int, int | None]
    thread: int
    sizes: dict[int, str]
    indexed_by_data: bool
    turns: bool
    lengths: frozenset[int]
    expected: dict[Hashable, Any] = field(default_factory=dict)
    tables: Tables = field(default_factory=Tables)


def read(body: Any) -> Source:
    """The epochs of a kernel whose statements are named."""
    whole = mirror(body)
    reader = _Reader(Scope(lengths=lengths(whole, _is_parallel)))
    node = reader.build(whole)
    return Source(
        node if node is not None else Sequence([], NOTHING, []),
        reader.sites,
        reader.ends,
        reader.memories,
        reader.blocks,
        reader.thread,
        reader.scope.sizes,
        reader.indexed_by_data,
        reader.turns,
        reader.scope.lengths,
    )


@dataclass(slots=True)
class SourceLoop(Loop):
    """A loop of the source; of a long serial one, some iterations count, in what is emitted too.

    These are the first, the last, and those that the machine was told of before.
    """

    depth: int
    cut: bool

    def chosen(self, machine: Machine, lanes: Lanes, values: Array) -> Array:
        if not self.cut or len(values) <= MOST_ITERATIONS:
            return values
        axes = [(name.kind, name.number, self.depth) for name in self.names]
        told = [machine.allowed.get(axis, values[:0]) for axis in axes]
        keep = among(values, np.concatenate([values[[0, -1]], *told]))
        machine.allowed.update(dict.fromkeys(axes, values[keep]))
        for axis in axes:
            machine.met.setdefault(axis, set()).update(values.tolist())
        return values[keep]


@dataclass(slots=True)
class _Reader:
    scope: Scope
    sites: dict[int, Site] = field(default_factory=dict)
    ends: dict[int, End] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    blocks: dict[int, int | None] = field(default_factory=dict)
    thread: int = 0
    indexed_by_data: bool = False
    turns: bool = False
    ops: dict[int, Op] = field(default_factory=dict)
    loops: list[Any] = field(default_factory=list)

    def build(self, stmt: Any) -> Node | None:
        kind = stmt.type
        if kind == "Evaluate":
            return self._marker(stmt)
        if kind == "For":
            return self._loop(stmt)
        if kind == "IfThenElse":
            return self._branch(stmt)
        if kind in ("LetStmt", "Bind"):
            return self._binding(stmt)
        if kind == "AttrStmt":
            return self._attribute(stmt)
        if kind == "While":
            self.turns = True
        return sequence([self.build(child) for child in stmt.children])

    def _marker(self, stmt: Any) -> Node | None:
        found = read_marker(stmt)
        if found is None:
            return None
        if found.kind == "alloc":
            return self._alloc(found)
        if found.kind == "init":
            return self._init(found)
        return self._update(found) if found.kind == "update" else None

    def _alloc(self, found: marker.Marker) -> Node:
        buffer = found.target
        shape = [constant(extent) for extent in buffer.shape]
        if None in shape:
            raise NotCountedError(f"the shape of {buffer.name} is only known at launch")
        key = buffer.data.key
        self.ops[key] = Op(found.text(1))
        size = math.prod(extent or 1 for extent in shape)
        self.memories[key] = Memory(str(buffer.name), size, False, 1)
        return self._fill(key, lambda machine, lanes: ZERO)

    def _init(self, found: marker.Marker) -> Node:
        key = found.target.data.key
        if len(found.args) < 4 or tags.contribution(found.args[3]) is None:
            return self._fill(key, lambda machine, lanes: ZERO)
        self._note(found, found.args[3], "seed", found.text(2))
        return self._fill(key, self._value(key, found.args[3]))

    def _fill(self, key: int, value: Value) -> Node:
        memory = self.memories[key]
        slot = ("slot", key)
        write = Write(memory, lambda lanes: lanes.read(slot), value, False, NOTHING, [])
        body = Code(0), Code(memory.size)
        effects = Effects(written=frozenset({key}))
        write.effects = effects
        return Loop(slot, *body, write, effects, [])

    def _update(self, found: marker.Marker) -> Node:
        key = found.target.data.key
        name = self._note(found, found.args[4], "update", found.text(3))
        shape = [constant(extent) or 1 for extent in found.target.shape]
        index = self._index(found.args[5:], shape)
        value = self._value(key, found.args[4])
        effects = Effects(added=frozenset({key}))
        return Write(self.memories[key], index, value, True, effects, [name])

    def _index(self, indices: Any, shape: list[int]) -> Run:
        codes = []
        for index, extent in zip(indices, shape, strict=True):
            fixed = constant(index)
            negative = fixed is not None and fixed < 0
            code = self.scope.number(fixed + extent if negative and fixed else index)
            self.indexed_by_data |= code.data
            codes.append(code)
        if len(codes) == 1:
            return codes[0].run
        extents = tuple(shape)
        return lambda lanes: row_major([code.run(lanes) for code in codes], extents)

    def _value(self, key: int, expr: Any) -> Value:
        return compile_value(Store(self.scope, {}), expr, frozenset({self.ops[key]}))

    def _note(self, found: marker.Marker, value: Any, what: str, location: str) -> Name:
        tag = tags.contribution(value)
        assert tag is not None
        name = str(found.target.name)
        op = self.ops[found.target.data.key]
        loops = tuple(str(var.name) for var in self.loops)
        self.sites[tag.number] = Site(tag.number, what, name, op, location, loops)
        codes = tuple(self.scope.number(one) for one in tag.ids)
        return Name("update", tag.number, tag.ids, tag.place, codes)

    def _loop(self, stmt: Any) -> Node | None:
        key = stmt.loop_var.key
        low, extent = self.scope.number(stmt.min), self.scope.number(stmt.extent)
        cut = not _is_parallel(stmt) and not self._depends(stmt.min, stmt.extent)
        self.scope.bound.add(key)
        self.loops.append(stmt.loop_var)
        body = self.build(stmt.body)
        self.loops.pop()
        if body is None:
            return None
        return SourceLoop(key, low, extent, body, body.effects, body.names, len(self.loops), cut)

    def _depends(self, *exprs: Any) -> bool:
        """Whether an extent differs between iterations of the loops around."""
        around = {var.key for var in self.loops}
        return any(var.key in around for expr in exprs for var in variables(expr))

    def _branch(self, stmt: Any) -> Node | None:
        condition = self.scope.truth(stmt.condition)
        then = self.build(stmt.then_case)
        other = None if stmt.else_case is None else self.build(stmt.else_case)
        both = sequence([then, other])
        if both is None:
            return None
        return Branch(condition, then, other, both.effects, both.names)

    def _binding(self, stmt: Any) -> Node | None:
        key = stmt.var.key
        code = self.scope.number(stmt.value)
        self.scope.bound.add(key)
        if code.data:
            self.scope.data.add(key)
        node = Binding(key, code, None, NOTHING, [])
        return node if stmt.body is None else sequence([node, self.build(stmt.body)])

    def _attribute(self, stmt: Any) -> Node | None:
        if stmt.attr_key == "thread_extent":
            self._launch(stmt)
        tag = tags.finalize(stmt)
        if tag is None:
            return self.build(stmt.body)
        found = read_marker(stmt.body)
        assert found is not None
        key = found.target.data.key
        shape = tuple(constant(extent) or 1 for extent in found.target.shape)
        name = str(found.target.name)
        end = End(tag.number, name, self.ops[key], found.text(2), shape, key)
        self.ends[tag.number] = end
        codes = tuple(self.scope.number(one) for one in tag.ids)
        names = [Name("finalize", tag.number, tag.ids, tag.place, codes)]
        return Finalize(
            tag.number, tag.place, codes, None, Effects(read=frozenset({key}), serial=True), names
        )

    def _launch(self, stmt: Any) -> None:
        key, tag = stmt.node.var.key, stmt.node.thread_tag
        self.scope.bound.add(key)
        if tag.startswith("blockIdx"):
            self.blocks[key] = constant(stmt.value)
        else:
            # Which thread asks is nothing that an epoch may depend on: as good as data.
            self.scope.data.add(key)
            self.blocks[key] = 1


def _is_parallel(loop: Any) -> bool:
    return bool(loop.kind == adapter().tir.ForKind.PARALLEL)
