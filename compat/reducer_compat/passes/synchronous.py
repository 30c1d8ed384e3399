"""Copy at once what cannot be copied asynchronously.

`cp.async` copies 4, 8 or 16 bytes (PTX ISA). From 0.1.9 to 0.1.11 TileLang makes one of each
element where it cannot tell that more lie side by side in memory, as in a row of symbolic length,
and refuses those of 1 and 2 bytes when it writes CUDA code, in kernels without reducers, too:

    for k in T.Pipelined(T.ceildiv(n, 64), num_stages=2):
        T.copy(X[k * 64], tile)         float16: "requires a final PTX byte width in {4, 8, 16}"

Their threads copy such elements through registers here: where an asynchronous copy may be issued,
its target may be written, and who waits for the copy comes by a barrier behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes import build
from reducer_compat.passes.touches import POINTER, called, pointed_bytes
from reducer_compat.passes.waits import COPY

#: An arrival at an mbarrier when the copies of a thread have landed: it says nothing of stores.
_ARRIVE = ("ptx_cp_async_barrier", "ptx_cp_async_barrier_noinc")
_WIDTHS = frozenset({4, 8, 16})


def through_registers(func: Any, kernel: str) -> Any:
    """A kernel for the device without such copies; the same one where there are none.

    Raises:
        UnfitError: consumers in warps of their own would be told of such a copy too early.
    """
    calls = [stmt for stmt in tree.walk(func.body) if called(stmt)]
    narrow = [stmt for stmt in calls if called(stmt) == COPY and _is_narrow(stmt.value)]
    if not narrow:
        return func
    if any(called(stmt) in _ARRIVE for stmt in calls):
        raise UnfitError(
            Feature.SPECIALIZED,
            "TileLang has producers copy asynchronously what is no 4, 8 or 16 bytes",
            kernel,
        )
    copies = _Copies(tree.walk(func.body))
    return tree.rewritten(func, copies.enter)


def _is_narrow(copy: Any) -> bool:
    """Whether a copy from and to pointers has another number of bytes than there are copies of."""
    pointers, elements = tree.items(copy.args)[:2], tree.constant(copy.args[2])
    if elements is None or any(tree.operation(pointer) != POINTER for pointer in pointers):
        return False
    return elements * pointed_bytes(pointers[0]) not in _WIDTHS


class _Copies:
    """Writes copies with the buffers that a kernel declares."""

    def __init__(self, stmts: Iterable[Any]) -> None:
        declaration = adapter().tir.DeclBuffer
        declared = (stmt.buffer for stmt in stmts if type(stmt) is declaration)
        self._declared = {hash(buffer.data): buffer for buffer in declared}

    def enter(self, stmt: Any) -> Any:
        """The elements of such a copy, each loaded and stored; None for another statement."""
        if called(stmt) != COPY or not _is_narrow(stmt.value):
            return None
        target, source, elements, *taken = tree.items(stmt.value.args)
        stores = [
            build.store(self._buffer(target), self._value(source, k, taken), target.args[2] + k)
            for k in range(int(elements))
        ]
        return tree.sequence(stores, tree.span_of(stmt))

    def _value(self, source: Any, k: int, taken: Sequence[Any]) -> Any:
        """An element, or zero where the predicate of a copy does not hold."""
        value = build.load(self._buffer(source), source.args[2] + k)
        if not taken:
            return value
        tir = adapter().tir
        return tir.if_then_else(taken[0], value, tir.const(0, value.dtype))

    def _buffer(self, pointer: Any) -> Any:
        """The buffer that a pointer is into; that of a parameter is declared nowhere."""
        data, dtype = pointer.args[1], str(pointer.args[0].dtype)
        if hash(data) in self._declared:
            return self._declared[hash(data)]
        return adapter().tir.decl_buffer((1,), dtype, data.name, data=data)
