"""The statements of a traced kernel, run in order by all lanes together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from reducer_compat.simt.lowering import installed
from reducer_rules.monoid import Op

from .expressions import dtype_of, value
from .lanes import Array, Lanes, Storage, Uncountable
from .updates import UFUNCS, terms

#: Values that run together; more blocks than fit run one group after the other.
_AT_ONCE = 1 << 21
_GLOBAL, _PER_THREAD = "global", ("local", "local.var")
#: Iterations of a loop that numpy cannot run together, before it is refused.
_MOST_STEPS = 1 << 18
_ANNOTATIONS = ("reducer_info", "reducer_info_v2")


@dataclass
class Program:
    """A traced kernel; `contributions` is what the last run counted."""

    prim_func: Any
    contributions: int = 0

    def run(self, given: Sequence[Any]) -> None:
        """Run every block. Arrays of `given`, one for each parameter, change in place.

        Raises:
            Uncountable: the program does something that is not known here.
        """
        _, _, tir = installed()
        env, globals_ = self._parameters(given)
        blocks, width = _grid(tir, self.prim_func.body)
        extents = [_constant(value(_Constants(tir, env), extent)) for _, extent in blocks]
        self.contributions, step = 0, max(1, _AT_ONCE // width)
        for first in range(0, prod(extents), step):
            size = min(step, prod(extents) - first)
            machine = Machine(tir, Lanes(size), dict(env), dict(globals_))
            # The x of the grid runs fastest.
            numbers = np.arange(first, first + size)
            for (var, _), extent in zip(blocks, extents, strict=True):
                position = (numbers % extent).astype(np.int32)
                machine.env[var] = machine.lanes.along(0, position)
                numbers = numbers // extent
            machine.find_threads(self.prim_func.body)
            machine.run(self.prim_func.body)
            self.contributions += machine.contributions
        self._write_back(given, globals_)

    def _parameters(self, given: Sequence[Any]) -> tuple[dict[Any, Any], dict[Any, Storage]]:
        env: dict[Any, Any] = {}
        storages: dict[Any, Storage] = {}
        for param, passed in zip(self.prim_func.params, given, strict=True):
            buffer = self.prim_func.buffer_map.get(param)
            if buffer is None:
                env[param] = dtype_of(param).type(passed)
                continue
            for extent, size in zip(buffer.shape, passed.shape, strict=True):
                if type(extent).__name__ == "Var":
                    env[extent] = dtype_of(extent).type(size)
            flat = np.array(passed).ravel()
            storages[buffer.data] = Storage(
                str(buffer.name), flat, flat.size, True, dtype_of(buffer)
            )
        return env, storages

    def _write_back(self, given: Sequence[Any], storages: dict[Any, Storage]) -> None:
        for param, passed in zip(self.prim_func.params, given, strict=True):
            buffer = self.prim_func.buffer_map.get(param)
            if buffer is not None:
                passed[...] = storages[buffer.data].values.reshape(passed.shape)


def _grid(tir: Any, body: Any) -> tuple[list[tuple[Any, Any]], int]:
    """The block indices (x first) with their extents, and the widest parallel nest."""
    found: dict[str, tuple[Any, Any]] = {}
    widest = 1
    for node in tir.nodes(body):
        tag, var, extent = _binding(node)
        if tag.startswith("blockIdx"):
            found[tag] = (var, extent)
        if type(node).__name__ == "For" and node.kind == tir.module.ForKind.PARALLEL:
            widest = max(widest, _nest_size(tir, node))
    return [found[tag] for tag in sorted(found)], widest


def _nest_size(tir: Any, loop: Any) -> int:
    size = 1
    while type(loop).__name__ == "For":
        extent = loop.extent
        size *= int(extent.value) if hasattr(extent, "value") else 1
        loop = loop.body
    return size


def _binding(node: Any) -> tuple[str, Any, Any]:
    """The tag, the variable and the extent of a thread binding; no tag for other nodes."""
    name = type(node).__name__
    if name == "AttrStmt" and node.attr_key == "thread_extent":
        return str(node.node.thread_tag), node.node.var, node.value
    if name == "For" and node.thread_binding is not None:
        return str(node.thread_binding.thread_tag), node.loop_var, node.extent
    return "", None, None


def _constant(number: Any) -> int:
    return int(np.asarray(number).reshape(-1)[0])


@dataclass
class _Constants:
    """Enough of a machine to evaluate an extent of the grid."""

    tir: Any
    env: dict[Any, Any]

    def variable(self, var: Any) -> Any:
        return self.env[var]


@dataclass(frozen=True)
class Deferred:
    """A binding that mentions a thread: its value is known where threads are."""

    expr: Any


@dataclass
class Machine:
    """The state of a run of some blocks."""

    tir: Any
    lanes: Lanes
    env: dict[Any, Any]
    storages: dict[Any, Storage]
    contributions: int = 0
    reducers: dict[Any, Op] = field(default_factory=dict)
    threads: dict[Any, int] = field(default_factory=dict)
    in_parallel: bool = False
    in_threads: bool = False

    # Names

    def variable(self, var: Any) -> Any:
        """The value of a variable."""
        if var not in self.env:
            raise Uncountable(f"the variable {var.name}")
        found = self.env[var]
        return value(self, found.expr) if isinstance(found, Deferred) else found

    def bind(self, var: Any, expr: Any) -> None:
        """Bind a variable to the value that an expression has now."""
        if var in self.threads:
            return
        needs = not self.in_threads and self.mentions_thread(expr)
        self.env[var] = Deferred(expr) if needs else value(self, expr)

    def find_threads(self, body: Any) -> None:
        """Learn the thread indices of the kernel, and their extents."""
        launched: list[int] = []
        for node in self.tir.nodes(body):
            tag, var, extent = _binding(node)
            if tag.startswith("threadIdx"):
                self.threads[var] = _constant(value(self, extent))
            found = getattr(node, "annotations", {}).get("tl.launch_threads")
            if found is not None:
                launched = [int(each) for each in found]
        for node in self.tir.nodes(body):
            bound = getattr(node, "value", None)
            if type(bound).__name__ == "Call" and hasattr(node, "var"):
                if self.tir.op_name(bound).endswith("launch_thread_idx"):
                    self.threads[node.var] = launched[int(bound.args[0])]

    def mentions_thread(self, expr: Any) -> bool:
        """Whether an expression depends on which thread evaluates it."""
        return any(
            type(node).__name__ == "Var"
            and (node in self.threads or isinstance(self.env.get(node), Deferred))
            for node in self.tir.nodes(expr)
        )

    # Memory

    def load(self, buffer: Any, indices: Sequence[Any], inside: Any = True) -> Any:
        """An element in every lane; lanes that are not `inside` read 0."""
        storage = self.storage(buffer)
        flat = self._flat(storage, buffer, indices, inside)
        found = storage.values[flat].astype(storage.dtype)
        return found if inside is True else np.where(inside, found, storage.dtype.type(0))

    def store(self, buffer: Any, indices: Sequence[Any], stored: Any, op: Op | None = None) -> None:
        """Write an element in every active lane, or combine it there, lane after lane."""
        storage = self.storage(buffer)
        flat = self.lanes.spread(self._flat(storage, buffer, indices))
        values = self.lanes.spread(stored).astype(storage.values.dtype)
        if op is None:
            storage.values[flat] = values
        elif storage.values.dtype.kind == "b":
            wide = storage.values.astype(np.int64)
            UFUNCS[op].at(wide, flat, values.astype(np.int64))
            storage.values[:] = wide != 0
        else:
            UFUNCS[op].at(storage.values, flat, values)

    def storage(self, buffer: Any) -> Storage:
        """The memory of a buffer."""
        found = self.storages.get(buffer.data)
        if found is None:
            raise Uncountable(f"the buffer {buffer.name}")
        if found.dtype != dtype_of(buffer):
            raise Uncountable(f"a view of {found.name} as {buffer.dtype}")
        return found

    def allocate(self, buffer: Any) -> None:
        """Give every block its own memory for a buffer."""
        blocks = self.lanes.extents[0]
        size = prod(_constant(value(self, extent)) for extent in buffer.shape)
        dtype = dtype_of(buffer)
        # Sums of a reducer are exact: rounding would depend on the order.
        wide = buffer.data in self.reducers and dtype.kind not in "biu"
        held = np.zeros(blocks * size, np.float64 if wide else dtype)
        self.storages[buffer.data] = Storage(str(buffer.name), held, size, False, dtype)

    def _flat(
        self, storage: Storage, buffer: Any, indices: Sequence[Any], inside: Any = True
    ) -> Array:
        """Where an element lies; lanes that are not active, or not inside, point at the first."""
        active = np.asarray(True if self.lanes.mask is None else self.lanes.mask) & inside
        flat: Any = np.int64(0)
        for index, extent in zip(indices, buffer.shape, strict=True):
            size = _constant(value(self, extent))
            self._check(storage, index, size, active)
            flat = flat * size + np.where(active, index, 0).astype(np.int64)
        if not storage.shared_by_blocks:
            flat = flat + self.lanes.blocks * storage.size
        return np.asarray(flat)

    def _check(self, storage: Storage, index: Any, size: int, active: Array) -> None:
        outside = active & ((np.asarray(index) < 0) | (np.asarray(index) >= size))
        if outside.any():
            first = np.broadcast_to(index, outside.shape)[outside].flat[0]
            raise Uncountable(f"an index outside {storage.name}: {int(first)} of {size}")

    # Statements

    def run(self, stmt: Any) -> None:
        """Run one statement."""
        name = type(stmt).__name__
        runner = getattr(self, f"_run_{name.lower().removeprefix('s')}", None) or getattr(
            self, f"_run_{name.lower()}", None
        )
        if runner is None:
            raise Uncountable(f"the statement {name}")
        if self.lanes.any_active():
            runner(stmt)

    def _run_seqstmt(self, stmt: Any) -> None:
        for each in stmt.seq:
            self.run(each)

    def _run_attrstmt(self, stmt: Any) -> None:
        self.run(stmt.body)

    def _run_assertstmt(self, stmt: Any) -> None:
        if getattr(stmt, "body", None) is not None:
            self.run(stmt.body)

    def _run_blockrealize(self, stmt: Any) -> None:
        self.run(stmt.block)

    def _run_block(self, stmt: Any) -> None:
        for key in _ANNOTATIONS:
            for data, info in dict(stmt.annotations.get(key, {})).items():
                self.reducers[data] = Op(str(info["op"]))
        for buffer in stmt.alloc_buffers:
            self.allocate(buffer)
        self.run(stmt.body)

    def _run_allocbuffer(self, stmt: Any) -> None:
        self.allocate(stmt.buffer)
        if getattr(stmt, "body", None) is not None:
            self.run(stmt.body)

    def _run_declbuffer(self, stmt: Any) -> None:
        if getattr(stmt, "body", None) is not None:
            self.run(stmt.body)

    def _run_letstmt(self, stmt: Any) -> None:
        self.bind(stmt.var, stmt.value)
        self.run(stmt.body)

    def _run_bind(self, stmt: Any) -> None:
        self.bind(stmt.var, stmt.value)

    def _run_for(self, stmt: Any) -> None:
        if stmt.thread_binding is not None:
            self.run(stmt.body)
            return
        with self.as_threads([stmt.min, stmt.extent]):
            if stmt.kind == self.tir.module.ForKind.PARALLEL:
                self._parallel(stmt)
            else:
                self._serial(stmt)

    def _parallel(self, stmt: Any) -> None:
        if self.in_threads:
            raise Uncountable("T.Parallel inside a condition on the thread")
        extents = self.lanes.spread(value(self, stmt.extent))
        first = value(self, stmt.min)
        outer, self.in_parallel = self.in_parallel, True
        with self.lanes.axis(int(extents.max())) as position:
            self.env[stmt.loop_var] = (first + position).astype(dtype_of(stmt.loop_var))
            with self.lanes.where(position < value(self, stmt.extent)):
                self.run(stmt.body)
        self.in_parallel = outer

    def _serial(self, stmt: Any) -> None:
        first, extent = value(self, stmt.min), value(self, stmt.extent)
        step = getattr(stmt, "step", None)
        stride = 1 if step is None else _constant(value(self, step))
        for position in range(int(self.lanes.spread(extent).max())):
            self.env[stmt.loop_var] = dtype_of(stmt.loop_var).type(position * stride) + first
            with self.lanes.where(position < np.asarray(extent)):
                self.run(stmt.body)

    def _run_while(self, stmt: Any) -> None:
        with ExitStack() as stack:
            for _ in range(_MOST_STEPS):
                stack.enter_context(self.lanes.where(value(self, stmt.condition)))
                if not self.lanes.any_active():
                    return
                self.run(stmt.body)
        raise Uncountable(f"a while loop of more than {_MOST_STEPS} iterations")

    def _run_ifthenelse(self, stmt: Any) -> None:
        with self.as_threads([stmt.condition]):
            chosen = np.asarray(value(self, stmt.condition), np.bool_)
            with self.lanes.where(chosen):
                self.run(stmt.then_case)
            if stmt.else_case is not None:
                with self.lanes.where(~chosen):
                    self.run(stmt.else_case)

    def _run_evaluate(self, stmt: Any) -> None:
        from .operations import operation

        if type(stmt.value).__name__ == "Call":
            operation(self, stmt.value)

    def _run_bufferstore(self, stmt: Any) -> None:
        with self.as_threads([*stmt.indices, stmt.value]):
            if str(stmt.buffer.scope()) in _PER_THREAD and (self.in_threads or self.in_parallel):
                raise Uncountable(f"{stmt.buffer.name}, of which every thread has its own")
            self._store_statement(stmt)

    def _store_statement(self, stmt: Any) -> None:
        indices = [value(self, index) for index in stmt.indices]
        equal = _same_element(stmt)
        nodes = self.tir.nodes(stmt.value)
        if not any(equal(node) for node in nodes) or self._apart(stmt.buffer, indices):
            if any(equal(node) for node in nodes) and stmt.buffer.data in self.reducers:
                self.contributions += self.lanes.count()
            self.store(stmt.buffer, indices, value(self, stmt.value))
            return
        found = terms(self.tir, stmt.value, equal)
        if found is None:
            raise Uncountable(f"iterations that build on each other in {stmt.buffer.name}")
        op, rest = found
        for term in rest:
            added = -value(self, term[1]) if isinstance(term, tuple) else value(self, term)
            self.store(stmt.buffer, indices, added, op)
        if stmt.buffer.data in self.reducers:
            self.contributions += self.lanes.count()

    def _apart(self, buffer: Any, indices: Sequence[Any]) -> bool:
        """Whether every active lane has an element of its own."""
        if buffer.data in self.reducers and self.storage(buffer).values.dtype != dtype_of(buffer):
            # A wide accumulator must not be rounded by a plain store of its narrow value.
            return False
        flat = self.lanes.spread(self._flat(self.storage(buffer), buffer, indices))
        return len(np.unique(flat)) == len(flat)

    @contextmanager
    def as_threads(self, expressions: Sequence[Any]) -> Iterator[None]:
        """Run what follows once for each thread, where the expressions depend on the thread."""
        if self.in_threads or not any(map(self.mentions_thread, expressions)):
            yield
            return
        if self.in_parallel:
            raise Uncountable("a thread index inside T.Parallel")
        with self.all_threads():
            yield

    @contextmanager
    def all_threads(self) -> Iterator[None]:
        """Run what follows once for each thread."""
        if self.in_threads:
            yield
            return
        self.in_threads = True
        with ExitStack() as stack:
            for var, extent in self.threads.items():
                position = stack.enter_context(self.lanes.axis(extent)) if extent > 1 else 0
                self.env[var] = np.asarray(position, dtype_of(var))[()]
            yield
        for var in self.threads:
            self.env.pop(var, None)
        self.in_threads = False


def _same_element(stmt: Any) -> Any:
    """Whether an expression loads the element that a statement stores."""
    from tilelang import tvm

    def same(node: Any) -> bool:
        return (
            type(node).__name__ == "BufferLoad"
            and node.buffer.data.same_as(stmt.buffer.data)
            and all(
                tvm.ir.structural_equal(mine, its)
                for mine, its in zip(node.indices, stmt.indices, strict=True)
            )
        )

    return same
