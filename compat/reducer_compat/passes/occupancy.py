"""Bound the registers of a thread, so that several blocks share a multiprocessor.

TileLang promises the CUDA compiler that one block runs at a time. Where every iteration of a
long loop is written out and depends on no other, the compiler then spends up to 255 registers
on running them side by side, and nothing is left to hide latency with but that:

    softmax statistics, 64 halves in each of 256 threads: 167 registers, one block
    the same, with three blocks asked for:                  80 registers, three, no instruction more

What the arrays of a thread hold at once is known here. A kernel that keeps its values in them
alone is told how many blocks they leave room for, unless the author has said so himself with
`T.annotate_min_blocks_per_sm`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.passes.sites import element_bytes
from reducer_compat.passes.specialized import SCOPE

#: TileLang's attribute, on a statement of the kernel.
BLOCKS = "tl.min_blocks_per_sm"
#: 32-bit registers of a multiprocessor, and the bytes of one; the same on every NVIDIA GPU.
REGISTERS = 65536
REGISTER_BYTES = 4
#: Registers of a thread beside its arrays: addresses, constants, expressions on their way.
BESIDE = 32
#: A thread gets at least so many. With 1024 threads in flight more would hide nothing.
LEAST = 64
#: Registers are given out in units of so many a thread.
UNIT = 8
#: Blocks that every GPU runs at once, and bytes of shared memory that they have in all.
MOST_BLOCKS = 16
SHARED = 96 * 1024
#: How the names of builtins end that take the address of an element.
_POINTERS = ("address_of", "access_ptr")


def crowded(func: Any) -> Any:
    """The kernel, saying how many blocks a multiprocessor is to run at once, where that helps."""
    if not _applies(func):
        return func
    blocks = _blocks(func)
    if blocks < 2:
        return func
    return tree.rewritten(func, lambda stmt: _asking(stmt, blocks))


def _asking(stmt: Any, blocks: int) -> Any:
    """A launch of threads with the attribute inside, where device code begins."""
    if not _is_launch(stmt):
        return None
    tir = adapter().tir
    zero, count = (tir.IntImm("int32", value) for value in (0, blocks))
    body = tir.AttrStmt(zero, BLOCKS, count, stmt.body)
    return tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body, tree.span_of(stmt))


def _is_launch(stmt: Any) -> bool:
    return tree.is_launch(stmt) and str(stmt.node.thread_tag).startswith("threadIdx")


def _applies(func: Any) -> bool:
    if tree.target_kind(func) != "cuda":
        return False
    if not hasattr(adapter().tilelang.language, "annotate_min_blocks_per_sm"):
        return False
    keys, attribute = (BLOCKS, SCOPE), adapter().tir.AttrStmt
    attributes = (stmt for stmt in statements(func) if type(stmt) is attribute)
    return not any(stmt.attr_key in keys for stmt in attributes)


def _blocks(func: Any) -> int:
    """How many blocks the arrays leave room for; 1 where they are small, or used by pointers."""
    arrays, shared = _allocated(func)
    small = LEAST - BESIDE
    if sum(map(_registers, arrays)) <= small:
        return 1  # whatever is in use at once: most kernels need no look at their statements
    held = _held(func.body, arrays)
    if held <= small or _escapes(func, arrays):
        return 1
    needed = max(LEAST, -(-(held + BESIDE) // UNIT) * UNIT)
    size = sum(_bytes(buffer) for buffer in shared)
    room = SHARED // size if size else MOST_BLOCKS
    return min(REGISTERS // (needed * _threads(func)), room, MOST_BLOCKS)


def _allocated(func: Any) -> tuple[list[Any], list[Any]]:
    """The arrays of each thread, and those in shared memory."""
    scopes = [(buffer, str(buffer.scope())) for buffer in tree.allocated(statements(func))]
    arrays = [buffer for buffer, scope in scopes if scope.startswith("local")]
    return arrays, [buffer for buffer, scope in scopes if scope.startswith("shared")]


def _held(body: Any, arrays: list[Any]) -> int:
    """Registers of the arrays that are in use at once, at most.

    An array is in use from its first statement to its last, and all through a loop that is not
    written out.
    """
    sizes = {hash(buffer.data): _registers(buffer) for buffer in arrays}
    spans: dict[int, tuple[int, int]] = {}

    def use(key: int, start: int, end: int) -> None:
        first, last = spans.get(key, (start, end))
        spans[key] = (min(first, start), max(last, end))

    def visit(stmt: Any, number: int) -> tuple[int, set[int]]:
        """Number the statements from `number` on; the next number, and the arrays used."""
        used = _mentioned(stmt) & sizes.keys()
        end = number + 1
        for child in tree.children(stmt):
            end, inner = visit(child, end)
            used |= inner
        repeats = type(stmt) is adapter().tir.For and not _is_written_out(stmt)
        for key in used if repeats else _mentioned(stmt) & sizes.keys():
            use(key, number, end)
        return end, used

    total, _ = visit(body, 0)
    changes = [0] * (total + 2)
    for key, (start, end) in spans.items():
        changes[start] += sizes[key]
        changes[end + 1] -= sizes[key]
    return max(itertools.accumulate(changes))


def _is_written_out(loop: Any) -> bool:
    kinds = adapter().tir.ForKind
    return loop.kind in (kinds.UNROLLED, kinds.VECTORIZED)


def _mentioned(stmt: Any) -> set[int]:
    """The data of the buffers that a statement itself reads or writes."""
    found = {hash(load.buffer.data) for e in tree.expressions(stmt) for load in tree.loads(e)}
    if type(stmt) is adapter().tir.BufferStore:
        found.add(hash(stmt.buffer.data))
    return found


def _bytes(buffer: Any) -> int:
    extents = (tree.constant(extent) for extent in buffer.shape)
    return math.prod(REGISTERS if e is None else e for e in extents) * element_bytes(buffer)


def _registers(buffer: Any) -> int:
    return -(-_bytes(buffer) // REGISTER_BYTES)


def _escapes(func: Any, arrays: list[Any]) -> bool:
    """Whether an array is used otherwise than by element, as matrix instructions do."""
    tir = adapter().tir
    for stmt in statements(func):
        for expr in tree.expressions(stmt):
            for node in tree.nodes(expr):
                if isinstance(node, tir.Var):
                    used = [node]
                elif tree.callee(node).endswith(_POINTERS):
                    used = [load.buffer.data for load in tree.loads(node)]
                else:
                    continue
                if any(var.same_as(buffer.data) for var in used for buffer in arrays):
                    return True
    return False


def _threads(func: Any) -> int:
    extents = [
        tree.constant(stmt.value) or REGISTERS for stmt in statements(func) if _is_launch(stmt)
    ]
    return math.prod(extents)
