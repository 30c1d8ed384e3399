"""The state of a run: what names are bound to, memory, and the threads of the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from reducer_rules.monoid import Op

from .expressions import dtype_of, value
from .lanes import Array, Lanes, Storage, Uncountable
from .updates import UFUNCS


def binding(node: Any) -> tuple[str, Any, Any]:
    """The tag, the variable and the extent of a thread binding; no tag for other nodes."""
    name = type(node).__name__
    if name == "AttrStmt" and node.attr_key == "thread_extent":
        return str(node.node.thread_tag), node.node.var, node.value
    if name == "For" and node.thread_binding is not None:
        return str(node.thread_binding.thread_tag), node.loop_var, node.extent
    return "", None, None


def constant(number: Any) -> int:
    """A value that is the same in every lane, as a number."""
    return int(np.asarray(number).reshape(-1)[0])


@dataclass(frozen=True)
class Deferred:
    """A binding whose value is known later: it mentions a thread, or a variable bound below it."""

    expr: Any
    of_thread: bool


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
        of_thread = not self.in_threads and self.mentions_thread(expr)
        later = of_thread or any(
            type(node).__name__ == "Var" and node not in self.env for node in self.tir.nodes(expr)
        )
        self.env[var] = Deferred(expr, of_thread) if later else value(self, expr)

    def find_threads(self, body: Any) -> None:
        """Learn the thread indices of the kernel, and their extents."""
        launched: list[int] = []
        for node in self.tir.nodes(body):
            tag, var, extent = binding(node)
            if tag.startswith("threadIdx"):
                self.threads[var] = constant(value(self, extent))
            found = getattr(node, "annotations", {}).get("tl.launch_threads")
            if found is not None:
                launched = [int(each) for each in found]
        for node in self.tir.nodes(body):
            bound: Any = getattr(node, "value", None)
            is_bound_call = type(bound).__name__ == "Call" and hasattr(node, "var")
            if is_bound_call and self.tir.op_name(bound).endswith("launch_thread_idx"):
                self.threads[node.var] = launched[int(bound.args[0])]

    def mentions_thread(self, expr: Any) -> bool:
        """Whether an expression depends on which thread evaluates it."""
        return any(
            type(node).__name__ == "Var" and (node in self.threads or self._is_of_thread(node))
            for node in self.tir.nodes(expr)
        )

    def _is_of_thread(self, var: Any) -> bool:
        found = self.env.get(var)
        return isinstance(found, Deferred) and found.of_thread

    # Memory

    def load(self, buffer: Any, indices: Sequence[Any], inside: Any = True) -> Any:
        """An element in every lane; lanes that are not `inside` read 0.

        So do those outside global memory: TileLang guards accesses to it.
        """
        storage = self.storage(buffer)
        if storage.shared_by_blocks and inside is True:
            inside = self.inside(buffer, indices)
        flat = self._flat(storage, buffer, indices, inside)
        found = storage.values[flat].astype(storage.dtype)
        return found if inside is True else np.where(inside, found, storage.dtype.type(0))

    def store(self, buffer: Any, indices: Sequence[Any], stored: Any, op: Op | None = None) -> None:
        """Write an element in every active lane, or combine it there, lane after lane.

        What lies outside global memory is not written: TileLang guards accesses to it.
        """
        storage = self.storage(buffer)
        if storage.shared_by_blocks:
            inside = self.inside(buffer, indices)
            if not inside.all():
                with self.lanes.where(inside):
                    self.store(buffer, indices, stored, op)
                return
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

    def inside(self, buffer: Any, indices: Sequence[Any]) -> Array:
        """Where the indices lie in the buffer, in lanes that are active."""
        found = np.asarray(True)
        for index, extent in zip(indices, buffer.shape, strict=True):
            size = value(self, extent)
            found = found & (np.asarray(index) >= 0) & (np.asarray(index) < size)
        return found if self.lanes.mask is None else found | ~self.lanes.mask

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
        size = prod(constant(value(self, extent)) for extent in buffer.shape)
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
            size = constant(value(self, extent))
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

    def apart(self, buffer: Any, indices: Sequence[Any]) -> bool:
        """Whether every active lane has an element of its own."""
        flat = self.lanes.spread(self._flat(self.storage(buffer), buffer, indices))
        return len(np.unique(flat)) == len(flat)

    def exact(self, buffer: Any) -> bool:
        """Whether the memory holds what a load gives: a wide accumulator is not rounded."""
        return bool(self.storage(buffer).values.dtype == dtype_of(buffer))

    # Threads

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
