"""Read a kernel as TileLang will lower it, or has lowered it, into the statements of a count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reducer_compat import marker
from reducer_compat.passes.prove import collectives, tags
from reducer_compat.passes.prove.expr import Scope
from reducer_compat.passes.prove.layouts import Table, Tables
from reducer_compat.passes.prove.machine import Memory, NotCountedError
from reducer_compat.passes.prove.mirror import (
    constant,
    equal,
    mirror,
    nodes,
    read_marker,
)
from reducer_compat.passes.prove.nodes import (
    NOTHING,
    Batch,
    Binding,
    Branch,
    Effects,
    Finalize,
    Loop,
    Name,
    Node,
    Sequence,
    Spread,
    Write,
)
from reducer_compat.passes.prove.values import (
    COMBINES,
    Store,
    Value,
    compile_value,
    foreign,
    holds,
    leaves,
)
from reducer_rules.monoid import Op

#: The annotation with the layout of a `T.Parallel` nest.
LAYOUT = "parallel_loop_layout"
_FRAGMENT = "local.fragment"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a finalize delivers: its memory, and the layout that readers use (None: as indexed)."""

    memory: Memory
    table: Table | None


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel to count.

    Attributes:
        threads: of one block.
        thread: the variable of the thread index.
        blocks: the variables of the block index, with their extents.
        memories: by the data variable of the buffer.
        destinations: by the number of the finalize.
        sizes: the names of the sizes that are only known at launch, by the variable.
        named: the statements with named contributions, by their hashes.
    """

    body: Node
    threads: int
    thread: int
    blocks: dict[int, int | None]
    memories: dict[int, Memory]
    destinations: dict[int, Destination]
    sizes: dict[int, str]
    named: frozenset[int]


class Flow(NamedTuple):
    """A store or `let`, and what its value is made of: data variables, and named contributions.

    `closing` says whether it is part of a finalize.
    """

    target: int
    sources: frozenset[int]
    numbers: tuple[int, ...]
    closing: bool


def read(
    func: Any,
    ops: dict[int, Op],
    ends: dict[int, Op],
    planned: bool,
    tables: Tables,
    lengths: frozenset[int],
) -> Program:
    """The program of a kernel.

    Args:
        func: with named contributions and finalizes.
        ops: how each contribution combines.
        ends: how each finalize combines.
        tables: of layouts, read or added to.
        planned: whether `LowerTileOp` is still to come, so that fragments are indexed by element
            and layouts say what each thread runs.
        lengths: the data variables of the tensors that say how long loops are.

    Raises:
        NotCountedError: contributions pass through something unknown.
    """
    reader = _Reader(ops, ends, planned, tables, Store(Scope(lengths=lengths), {}))
    whole = mirror(func.body)
    reader.survey(whole, None)
    reader.follow()
    body = reader.build(whole)
    if body is None:
        body = Sequence([], NOTHING, [])
    return Program(
        body,
        reader.threads,
        reader.thread,
        reader.blocks,
        reader.store.memories,
        reader.destinations,
        reader.store.scope.sizes,
        frozenset(key for key, flow in reader.flows.items() if flow.numbers),
    )


@dataclass(slots=True)
class _Reader:
    ops: dict[int, Op]
    ends: dict[int, Op]
    planned: bool
    tables: Tables
    store: Store
    threads: int = 1
    thread: int = 0
    blocks: dict[int, int | None] = field(default_factory=dict)
    destinations: dict[int, Destination] = field(default_factory=dict)
    buffers: dict[int, Any] = field(default_factory=dict)
    layouts: dict[int, Any] = field(default_factory=dict)
    flows: dict[int, Flow] = field(default_factory=dict)
    regions: list[tuple[int, int]] = field(default_factory=list)
    delivered: set[int] = field(default_factory=set)
    kept: dict[int, bool] = field(default_factory=dict)
    combines: dict[int, set[Op]] = field(default_factory=dict)

    # -- first walk: who writes what -------------------------------------------------------------

    def survey(self, stmt: Any, region: int | None) -> None:
        """Note buffers, layouts, and what flows from where to where."""
        waiting = [(stmt, region)]
        while waiting:
            stmt, region = waiting.pop()
            kind = stmt.type
            if kind == "AttrStmt":
                region = self._attribute(stmt, region)
            elif kind in _SURVEYS:
                _SURVEYS[kind](self, stmt, region)
            waiting += [(child, region) for child in stmt.children[::-1]]

    def _store(self, stmt: Any, region: int | None) -> None:
        self._flow(stmt, stmt.buffer.data, stmt.value, region)
        self.buffers.setdefault(stmt.buffer.data.key, stmt.buffer)

    def _let(self, stmt: Any, region: int | None) -> None:
        self._flow(stmt, stmt.var, stmt.value, region)

    def _flow(self, stmt: Any, target: Any, value: Any, region: int | None) -> None:
        sources: set[int] = set()
        numbers: list[int] = []
        for leaf in leaves(value):
            if leaf.type == "Call":
                tag = tags.contribution(leaf)
                numbers += [tag.number] if tag is not None else []
            elif leaf.type == "BufferLoad":
                sources.add(leaf.buffer.data.key)
                self.buffers.setdefault(leaf.buffer.data.key, leaf.buffer)
            else:
                sources.add(leaf.key)
        self.flows[stmt.key] = Flow(
            target.key, frozenset(sources), tuple(numbers), region is not None
        )

    def _waiting(self, stmt: Any, region: int | None) -> None:
        found = read_marker(stmt)
        if found is not None and found.kind == "partial":
            buffer = found.args[1].buffer
            self.buffers.setdefault(buffer.data.key, buffer)
            self._flow(stmt, buffer.data, found.args[3], region)

    def _block(self, block: Any, region: int | None) -> None:
        for buffer in block.alloc_buffers:
            self.buffers[buffer.data.key] = buffer
        layouts = block.annotations.get("layout_map") if block.annotations else None
        for key, layout in layouts.items() if layouts is not None else ():
            self.layouts[hash(getattr(key, "data", key))] = layout

    def _attribute(self, stmt: Any, region: int | None) -> int | None:
        if stmt.attr_key == "thread_extent":
            self._launch(stmt)
        tag = tags.finalize(stmt)
        if tag is None:
            return region
        key = tags.destination(stmt).key
        self.regions.append((key, tag.number))
        self.delivered.add(key)
        return tag.number

    def _launch(self, stmt: Any) -> None:
        name, extent = stmt.node.thread_tag, constant(stmt.value)
        key = stmt.node.var.key
        self.store.scope.bound.add(key)
        if name == "threadIdx.x":
            if extent is None:
                raise NotCountedError("the number of threads is only known at launch")
            self.threads, self.thread = extent, key
        else:
            self.blocks[key] = extent if name.startswith("blockIdx") else 1

    # -- between the walks: which buffers matter --------------------------------------------------

    def follow(self) -> None:
        """Find every buffer and variable that contributions reach, or that a finalize reads."""
        reached = self.combines
        for data, number in self.regions:
            reached.setdefault(data, set()).add(self.ends[number])
        flows = [
            (flow, {self.ops[number] for number in flow.numbers}) for flow in self.flows.values()
        ]
        news = 1
        while news:  # a round goes over all of them
            news = sum(self._followed(flow, ops) for flow, ops in flows)
        for key in reached:
            if key in self.buffers:
                self.store.memories[key] = self._memory(key, self.buffers[key])
            else:
                self.store.held.add(key)
        for data, number in self.regions:
            self._destination(data, number)

    def _followed(self, flow: Flow, ops: set[Op]) -> bool:
        """Take one flow into account, and what it adds to contributions of `ops`; whether that was
        news."""
        reached, target = self.combines, flow.target
        for key in flow.sources & reached.keys():
            # What a destination holds is final outside of its finalize.
            if flow.closing or key not in self.delivered:
                ops |= reached[key]
        news = bool(ops) and _grown(reached, target, ops)
        if flow.closing and target in reached:
            # What is combined with contributions is one, or has to be the identity.
            for key in flow.sources:
                if self._is_kept(key):
                    news |= _grown(reached, key, reached[target])
        return news

    def _is_kept(self, key: int) -> bool:
        """Whether a key is of a buffer of a block or a thread, or of a variable of a `let`."""
        known = self.kept.get(key)
        if known is None:
            if key in self.buffers:
                known = _memory_scope(self.buffers[key]) not in ("", "global")
            else:
                known = any(flow.target == key for flow in self.flows.values())
            self.kept[key] = known
        return known

    def _memory(self, key: int, buffer: Any) -> Memory:
        shape = [constant(extent) for extent in buffer.shape]
        if None in shape:
            raise NotCountedError(f"the shape of {buffer.name} is only known at launch")
        size = 1
        for extent in shape:
            size *= extent or 1
        scope = _memory_scope(buffer)
        places = None
        if self.planned and scope == _FRAGMENT:
            layout = self._table(key)
            if layout is None or layout.thread is None:
                raise NotCountedError(f"fragment {buffer.name} has no layout")
            places, size = layout.place, layout.size
        return Memory(str(buffer.name), size, scope.startswith("local"), self.threads, places)

    def _table(self, key: int) -> Table | None:
        layout = self.layouts.get(key)
        return None if layout is None else self.tables.of(layout)

    def _destination(self, key: int, number: int) -> None:
        memory = self.store.memories.get(key)
        if memory is None:
            raise NotCountedError("the destination of a finalize is not in the kernel any more")
        layout = self._table(key)
        if layout is not None and layout.thread is None and self.planned:
            layout = None  # a swizzle: elements are still named by their indices
        self.destinations[number] = Destination(memory, layout)

    # -- second walk: the statements -------------------------------------------------------------

    def build(self, stmt: Any) -> Node | None:
        """The statement as a node; None where it does not touch contributions."""
        builder = _BUILDERS.get(stmt.type)
        if builder is not None:
            return builder(self, stmt)
        return sequence([self.build(child) for child in stmt.children])

    def assign(self, stmt: Any) -> Node | None:
        memory = self.store.memory(stmt.buffer)
        if memory is None:
            return None
        key = stmt.buffer.data.key
        ops = frozenset(self.combines[key])
        rest = _added(stmt, ops)
        names = self._names(stmt.value)
        value = stmt.value if rest is None else rest
        read = self._reads(value)
        mine, none = frozenset({key}), frozenset[int]()
        added, written = (mine, none) if rest is not None else (none, mine)
        return Write(
            memory,
            self.store.index(stmt.buffer, stmt.indices),
            self._value(stmt, value, ops),
            rest is not None,
            Effects(added, written, read),
            names,
        )

    def _value(self, stmt: Any, value: Any, ops: frozenset[Op]) -> Value:
        flow = self.flows[stmt.key]
        mine = not flow.closing and not flow.numbers and flow.target in self.delivered
        try:
            return compile_value(self.store, value, ops)
        except NotCountedError:
            if not mine:
                raise
            # What the author makes of a result is no sum any more, and need not be.
            return foreign(value)

    def _reads(self, value: Any) -> frozenset[int]:
        keys = [leaf.buffer.data.key for leaf in leaves(value) if leaf.type == "BufferLoad"]
        return frozenset([key for key in keys if key in self.store.memories])

    def _names(self, value: Any) -> list[Name]:
        found = [tags.contribution(leaf) for leaf in leaves(value)]
        return [self._name("update", tag) for tag in found if tag is not None]

    def _name(self, kind: str, tag: tags.Tag) -> Name:
        codes = tuple(self.store.scope.number(one) for one in tag.ids)
        return Name(kind, tag.number, tag.ids, tag.place, codes)

    def evaluate(self, stmt: Any) -> Node | None:
        found = read_marker(stmt)
        if found is not None:
            return self._partial(found) if found.kind == "partial" else None
        call = stmt.value
        if call.type != "Call":
            return None
        touched = self._mentioned(call)
        if not touched:
            return None
        batch = self._batch(call)
        if batch is not None:
            return batch
        raise NotCountedError(f"contributions pass through {str(stmt).strip()[:160]}")

    def _partial(self, found: marker.Marker) -> Node:
        key = found.args[1].buffer.data.key
        index = self.store.scope.number(found.args[2])
        ops = frozenset(self.combines[key])
        value = compile_value(self.store, found.args[3], ops)
        effects = Effects(added=frozenset({key}), read=self._reads(found.args[3]))
        return Write(
            self.store.memories[key], index.run, value, True, effects, self._names(found.args[3])
        )

    def _mentioned(self, call: Any) -> set[int]:
        """The memories a call gets that hold more than delivered results."""
        found = set()
        for node in nodes(call):
            if node.type == "BufferLoad":
                found.add(node.buffer.data.key)
            elif node.type == "Var":
                found.add(node.key)
        return (found & self.store.memories.keys()) - self.delivered

    def _batch(self, call: Any) -> Node | None:
        if call.name != "call_extern" or len(call.args) < 2:
            return None
        found = collectives.butterfly(collectives.text(call.args[0]))
        pointer = call.args[1]
        if found is None or found[1] != "run_batch" or pointer.type != "Call":
            return None
        if pointer.name != "address_of":
            return None
        load = pointer.args[0]
        key = load.buffer.data.key
        if key not in self.store.memories or found[0].op not in self.combines[key]:
            return None
        index = self.store.index(load.buffer, load.indices)
        mine = frozenset({key})
        effects = Effects(written=mine, read=mine)
        return Batch(self.store.memories[key], index, found[0], effects, [])

    def binding(self, stmt: Any) -> Node | None:
        key = stmt.var.key
        scope = self.store.scope
        scope.bound.add(key)
        number = scope.number(stmt.value)
        if number.data:
            scope.data.add(key)
        held = None
        read = frozenset[int]()
        if key in self.store.held and holds(self.store, stmt.value):
            held = compile_value(self.store, stmt.value, frozenset(self.combines[key]))
            read = self._reads(stmt.value)
        node = Binding(key, number, held, Effects(read=read), [])
        return node if stmt.body is None else sequence([node, self.build(stmt.body)])

    def block(self, stmt: Any) -> Node | None:
        """A block, a branch where it has a predicate that may not hold."""
        (inner,) = stmt.children
        body = self.build(inner)
        condition = stmt.predicate
        if body is None or not _matters(body) or constant(condition):
            return body
        truth = self.store.scope.truth(condition)
        return Branch(truth, body, None, body.effects, body.names)

    def branch(self, stmt: Any) -> Node | None:
        then = self.build(stmt.then_case)
        other = None if stmt.else_case is None else self.build(stmt.else_case)
        arms = [arm for arm in (then, other) if _matters(arm)]
        if not arms:
            return None
        both = sequence(list(arms))
        assert both is not None
        condition = self.store.scope.truth(stmt.condition)
        return Branch(condition, then, other, both.effects, both.names)

    def loop(self, stmt: Any) -> Node | None:
        layout = stmt.annotations.get(LAYOUT) if self.planned else None
        if layout is not None:
            return self._spread(stmt, layout)
        key = stmt.loop_var.key
        self.store.scope.bound.add(key)
        body = self.build(stmt.body)
        if body is None or not _matters(body):
            return None
        low, extent = self.store.scope.number(stmt.min), self.store.scope.number(stmt.extent)
        return Loop(key, low, extent, body, body.effects, body.names)

    def _spread(self, stmt: Any, layout: Any) -> Node | None:
        nest = [stmt]
        found = self.tables.of(layout)
        rank = len(layout.get_input_shape())
        while len(nest) < rank and nest[-1].body.type == "For":
            nest.append(nest[-1].body)
        keys = [loop.loop_var.key for loop in nest]
        self.store.scope.bound.update(keys)
        body = self.build(nest[-1].body)
        if body is None or not _matters(body):
            return None
        extents = tuple(constant(loop.extent) for loop in nest)
        if found is None or found.thread is None or extents != found.shape:
            raise NotCountedError("a T.Parallel loop and its layout do not fit")
        lows = [self.store.scope.number(loop.min) for loop in nest]
        effects = body.effects | Effects(serial=True)
        return Spread(keys, lows, found, body, effects, body.names)

    def attribute(self, stmt: Any) -> Node | None:
        body = self.build(stmt.body)
        tag = tags.finalize(stmt)
        if tag is None:
            return body
        name = self._name("finalize", tag)
        effects = (body.effects if body is not None else NOTHING) | Effects(serial=True)
        names = [name, *(body.names if body is not None else [])]
        return Finalize(tag.number, tag.place, name.codes, body, effects, names)


def _memory_scope(buffer: Any) -> str:
    return str(buffer.scope)


def _grown(reached: dict[int, set[Op]], key: int, ops: set[Op]) -> bool:
    """Add `ops` to what reaches `key`; whether that was news."""
    if ops <= reached.get(key, set()):
        return False
    reached.setdefault(key, set()).update(ops)
    return True


def sequence(parts: list[Node | None]) -> Node | None:
    """Statements one after the other, flat."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, Sequence):
            flat += part.parts
        elif part is not None:
            flat.append(part)
    if not flat:
        return None
    if len(flat) == 1 and not isinstance(flat[0], Binding):
        return flat[0]
    effects = NOTHING
    for one in flat:
        effects = effects | one.effects
    return Sequence(flat, effects, [name for one in flat for name in one.names])


def _added(stmt: Any, ops: frozenset[Op]) -> Any:
    """``e`` where a store is ``b[i] = b[i] op e``; else None."""
    value = stmt.value
    kind = value.name if value.type == "Call" else value.type
    parts = value.operands
    if len(parts) != 2 or not COMBINES.get(kind, frozenset()) & ops:
        return None
    for mine, rest in (parts, parts[::-1]):
        if _same_slot(stmt, mine) and not any(
            leaf.type == "BufferLoad" and leaf.buffer.data.key == stmt.buffer.data.key
            for leaf in leaves(rest)
        ):
            return rest
    return None


def _same_slot(stmt: Any, expr: Any) -> bool:
    if expr.type != "BufferLoad" or expr.buffer.data.key != stmt.buffer.data.key:
        return False
    return len(expr.indices) == len(stmt.indices) and all(map(equal, expr.indices, stmt.indices))


def _matters(node: Node | None) -> bool:
    """Whether a statement does more than to bind variables."""
    if node is None or isinstance(node, Binding):
        return False
    return not isinstance(node, Sequence) or any(map(_matters, node.parts))


_SURVEYS: dict[str, Callable[[_Reader, Any, int | None], None]] = {
    "BufferStore": _Reader._store,
    "LetStmt": _Reader._let,
    "Bind": _Reader._let,
    "Evaluate": _Reader._waiting,
    "Block": _Reader._block,
    "SBlock": _Reader._block,
}

_BUILDERS: dict[str, Callable[[_Reader, Any], Node | None]] = {
    "BufferStore": _Reader.assign,
    "Evaluate": _Reader.evaluate,
    "LetStmt": _Reader.binding,
    "Bind": _Reader.binding,
    "BlockRealize": _Reader.block,
    "SBlockRealize": _Reader.block,
    "IfThenElse": _Reader.branch,
    "For": _Reader.loop,
    "AttrStmt": _Reader.attribute,
}
