"""Keep in registers what a pipelined loop reads of its tiles in values and conditions.

    v = A_s[tx]                                v_kept[0] = A_s[tx]
    if A_s[tx] > 0:                            condition_kept[0] = A_s[tx] > 0
        acc[0] = acc[0] + v          ->        if condition_kept[0]:
                                                   acc[0] = acc[0] + v_kept[0]

Warp specialization does not see what a condition reads (from 0.1.9 on), nor a value (up to
0.1.12): the tile gets no stages. And from 0.1.10 on, where a value is a statement beside those
that use it, a pipeline that writes iterations out (before and after the pipelined ones, or all of
a short loop) renames the value and not its uses, so that all go on with the value of the first
iteration. A store is right in each. What reads nothing that the loop writes is copied to where it
is used, and may stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes import build
from reducer_compat.passes.participants import is_pipelined
from reducer_compat.passes.split import may_specialize

#: How a region of a tile operation says that it is read.
_READ = 1


def in_registers(func: Any, kernel: str) -> Any:
    """The kernel with such values and conditions in registers.

    Raises:
        UnfitError: 0.1.8 would have warps specialized and lose the registers.
    """
    registers: list[Any] = []
    body = tree.transform(func.body, lambda stmt: _loop(stmt, registers))
    if not registers:
        return func
    if adapter().pipelines_late:
        target = func.attrs.get("target")
        if target is not None and may_specialize(target):
            raise UnfitError(
                Feature.SPECIALIZED,
                f"a value of a pipelined loop reads a tile ({registers[0].name})",
                kernel,
            )
        return func
    return func.with_body(tree.transform(body, lambda stmt: _allocated(stmt, registers)))


def _allocated(stmt: Any, registers: Sequence[Any]) -> Any:
    if type(stmt) is not adapter().block:
        return None
    return adapter().block_copy(stmt, alloc_buffers=[*stmt.alloc_buffers, *registers])


def _loop(stmt: Any, registers: list[Any]) -> Any:
    if not is_pipelined(stmt) or not any(map(_is_read_early, tree.walk(stmt.body))):
        return None
    keeper = _Keeper(_written(stmt.body), registers)
    body = keeper.loaded(tree.transform(stmt.body, keeper.enter))
    return None if body is stmt.body else adapter().for_loop(stmt, body=body)


@dataclass(frozen=True, slots=True)
class _Keeper:
    """Moves the values and conditions of one loop.

    Attributes:
        written: the data of the buffers that the loop writes.
        registers: where the registers go.
        values: by the variable of a value, the register that it moved to.
    """

    written: tuple[Any, ...]
    registers: list[Any]
    values: dict[Any, Any] = field(default_factory=dict)

    def enter(self, stmt: Any) -> Any:
        tir = adapter().tir
        if type(stmt) is tir.For:
            # A loop is one statement of the pipeline, with all that it reads.
            return stmt
        if type(stmt) is tir.IfThenElse and self._varies(stmt.condition):
            return self._branch(stmt)
        if not _is_value(stmt) or not self._varies(stmt.value):
            return None
        register = self.values[stmt.var] = self._register(stmt.var.name, stmt.var.dtype)
        parts = [tree.transform(part, self.enter) for part in tree.children(stmt)]
        return tree.sequence([build.store(register, stmt.value, 0), *parts])

    def _branch(self, stmt: Any) -> Any:
        register = self._register("condition", stmt.condition.dtype)
        parts = [tree.transform(part, self.enter) for part in tree.children(stmt)]
        kept = adapter().tir.IfThenElse(build.load(register, 0), *parts)
        return tree.sequence([build.store(register, stmt.condition, 0), kept])

    def _register(self, name: str, dtype: Any) -> Any:
        register = build.buffer(f"{name}_kept", 1, str(dtype), "local")
        self.registers.append(register)
        return register

    def loaded(self, body: Any) -> Any:
        """`body` with the registers read where their values were used."""
        loads = {var: build.load(register, 0) for var, register in self.values.items()}
        return build.substitute(body, loads) if loads else body

    def _varies(self, value: Any) -> bool:
        """Whether a value reads what the loop writes, and a stage of the pipeline may hold."""
        if any(var in self.values for var in tree.variables(value)):
            return True
        read = [load.buffer.data for load in tree.loads(value)]
        return any(data.same_as(one) for data in read for one in self.written)


def _is_read_early(stmt: Any) -> bool:
    return _is_value(stmt) or type(stmt) is adapter().tir.IfThenElse


def _is_value(stmt: Any) -> bool:
    return type(stmt).__name__ in ("Bind", "LetStmt") and "handle" not in str(stmt.var.dtype)


def _written(body: Any) -> tuple[Any, ...]:
    """The data of the buffers that statements store to, or tile operations may."""
    tir = adapter().tir
    found: list[Any] = []
    for stmt in tree.walk(body):
        if type(stmt) is tir.BufferStore:
            found.append(stmt.buffer.data)
        elif type(stmt) is tir.Evaluate:
            inside = tree.nodes(stmt.value)
            read = [node.args[0] for node in inside if _is_read(node)]
            loads = tree.among(inside, "BufferLoad")
            found += [one.buffer.data for one in loads if not any(map(one.same_as, read))]
            found += tree.among(inside, "Var")
    return tuple(found)


def _is_read(node: Any) -> bool:
    """Whether a part of a tile operation is a region that it reads and does not write."""
    return tree.callee(node).endswith("region") and tree.constant(node.args[1]) == _READ
