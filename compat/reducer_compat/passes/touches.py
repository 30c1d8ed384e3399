"""What statements of a kernel for the device touch of shared memory, in bytes.

By then tiles that live one after another share places of one allocation. From 0.1.9 on a variable
of each points into it; on 0.1.8 their indices are moved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.build import substitute
from reducer_compat.passes.places import Place
from reducer_compat.passes.plan import dtype_bytes

POINTER = "tvm_access_ptr"
ADDRESS = "address_of"
_BARRIER = "tvm_storage_sync"


class UnknownError(Exception):
    """A kernel has a part that cannot be told."""


@dataclass(frozen=True, slots=True)
class Where:
    """What is known where a statement stands.

    Attributes:
        ranges: the least and the largest value of variables, but for loops that are run.
        conditions: what holds of variables.
    """

    ranges: Mapping[Any, tuple[int, int]] = field(default_factory=dict)
    conditions: tuple[Any, ...] = ()

    def over(self, var: Any, least: int, most: int) -> Where:
        """The same, with the values of a variable."""
        return Where({**self.ranges, var: (least, most)}, self.conditions)

    def under(self, condition: Any) -> Where:
        """The same, where a condition holds."""
        known = () if tree.loads(condition) else (condition,)
        return Where(self.ranges, (*self.conditions, *known))


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """What a statement may touch: bytes `first` to `first + size - 1` of one allocation.

    Attributes:
        first: an expression, None where all of the allocation may be touched.
        where: what is known of the variables in it.
        itemsize: the bytes of an element; 0 where all of the allocation may be touched.
        writes: whether it may be written.
    """

    root: Any
    first: Any
    size: int
    where: Where
    itemsize: int = 0
    writes: bool = True


class Pointers:
    """The allocations that variables point into."""

    def __init__(self) -> None:
        #: The allocation and the bytes before it of variables that point into one.
        self._alias: dict[int, tuple[int, int]] = {}

    def take(self, stmt: Any) -> None:
        """Take in that a statement makes a variable, which may point into an allocation.

        Raises:
            UnknownError: it does in a way that is not known.
        """
        if tree.operation(stmt.value) == "handle_add_byte_offset":
            root, before = self.root(stmt.value.args[0])
            self._alias[hash(stmt.var)] = (root, before + number(stmt.value.args[1]))
        elif is_shared(stmt.var):
            raise UnknownError

    def root(self, data: Any) -> tuple[int, int]:
        """The allocation that a variable points into, and the bytes before that place."""
        return self._alias.get(hash(data), (hash(data), 0))

    def element(self, node: Any, where: Where, *, writes: bool) -> list[Touch]:
        """What a load or a store touches."""
        data = node.buffer.data
        if not is_shared(data):
            return []
        indices = tree.items(node.indices)
        if len(indices) != 1:
            return self.whole(data)
        itemsize, lanes = dtype_bytes(str(node.buffer.dtype)), 1
        index = indices[0]
        if isinstance(index, adapter().tir.Ramp):
            if tree.constant(index.stride) != 1:
                return self.whole(data)
            index, lanes = index.base, number(index.lanes)
        root, before = self.root(data)
        return [Touch(root, index * itemsize + before, itemsize * lanes, where, itemsize, writes)]

    def pointed(self, pointer: Any, where: Where, size: int) -> Touch:
        """The first `size` bytes where a `tvm_access_ptr` points to."""
        itemsize = pointed_bytes(pointer)
        root, before = self.root(pointer.args[1])
        writes = bool(number(pointer.args[4]) & 2)
        return Touch(root, pointer.args[2] * itemsize + before, size, where, itemsize, writes)

    def whole(self, data: Any) -> list[Touch]:
        """All of the allocation that a variable points into."""
        return [Touch(self.root(data)[0], None, 0, Where())] if is_shared(data) else []


def pointed_bytes(pointer: Any) -> int:
    """The bytes of an element that a `tvm_access_ptr` points to."""
    return dtype_bytes(str(pointer.args[0].dtype))


def bounded(touch: Touch, values: Mapping[Any, int]) -> Place:
    """The place of a touch, with the values of some variables."""
    if touch.first is None:
        return (touch.root, 0, 1 << 40)
    here = adapter()
    integers = {var: here.tir.IntImm(var.dtype, n) for var, n in values.items()}
    analyzer = here.tvm.arith.Analyzer()
    for var, (least, most) in touch.where.ranges.items():
        analyzer.bind(var, here.tvm.ir.Range(least, most + 1))
    with ExitStack() as known:
        for condition in touch.where.conditions:
            known.enter_context(analyzer.constraint_scope(filled(condition, integers)))
        found = analyzer.const_int_bound(analyzer.simplify(filled(touch.first, integers)))
    least, most = int(found.min_value), int(found.max_value)
    if least < 0 or most >= 1 << 31:
        return (touch.root, 0, 1 << 40)
    return (touch.root, least, most + touch.size - 1)


def filled(expr: Any, values: Mapping[Any, Any]) -> Any:
    """An expression with values for some of its variables."""
    return substitute(expr, values) if values else expr


def number(expr: Any) -> int:
    """The value of a constant.

    Raises:
        UnknownError: it is none.
    """
    value = tree.constant(expr)
    if value is None:
        raise UnknownError
    return value


def is_shared(data: Any) -> bool:
    """Whether a variable points to shared memory."""
    scope = getattr(getattr(data, "type_annotation", None), "storage_scope", "")
    return str(scope).startswith("shared")


def called(stmt: Any) -> str:
    """The operation that a statement calls; empty where it calls none."""
    return tree.operation(stmt.value) if type(stmt) is adapter().tir.Evaluate else ""


def binding() -> Any:
    """The class of statements that make a variable: with a body to 0.1.9."""
    tir = adapter().tir
    return tir.LetStmt if hasattr(tir, "LetStmt") else tir.Bind


def is_barrier(stmt: Any, threads: Collection[int] = ()) -> bool:
    """Whether a statement is a barrier of the block for shared memory.

    Args:
        threads: numbers of threads of which one is a barrier, too: in a branch for so many.
    """
    if called(stmt) != _BARRIER or not str(stmt.value.args[0].value).startswith("shared"):
        return False
    args = tree.items(stmt.value.args)
    return len(args) == 1 or (len(args) == 3 and tree.constant(args[2]) in threads)


def is_uniform(condition: Any, threads: set[int]) -> bool:
    """Whether an expression is the same in all threads of a block.

    Args:
        threads: the hashes of the variables that differ between them.
    """
    inside = tree.nodes(condition)
    if tree.among(inside, "Call", "BufferLoad"):
        return False
    return not any(hash(var) in threads for var in tree.among(inside, "Var", "SizeVar"))
