"""What the producers of a warp-specialized loop would have to themselves.

TileLang gives its producers not only the copies of tiles to shared memory, but also what stands
before the first read of such a tile, where all of it reads global memory and neither shared memory
nor a local variable, and stores to nothing but shared memory: as if it were there for the copies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reducer_migrate.frontend.buffers import Buffer
from reducer_migrate.frontend.syntax import all_below, argument, called, names_in

_SHARED = frozenset({"alloc_shared", "SharedBuffer"})
_GLOBAL = frozenset({"Tensor", "Buffer", "StridedTensor", "alloc_global", "empty"})
#: Storage that the producers' branch has to itself.
_LOCAL = frozenset({"alloc_local", "alloc_var"})
#: What TMA copies at least, and in multiples of.
_TMA_BYTES = 16
_BITS = re.compile(r"[a-z]+(\d+)")


class Withheld(NamedTuple):
    """The statements of a loop that its producers take, and the fragments that these fill."""

    statements: frozenset[int]
    fragments: frozenset[str]


NOTHING = Withheld(frozenset(), frozenset())


def withheld(loop: ast.For, buffers: Mapping[str, Buffer]) -> Withheld:
    """What the producers of a pipelined loop take besides the tiles; statements by `id`."""
    body = _body(loop)
    tiles = [_tile(statement, buffers) for statement in body]
    rest = [each for each, tile in zip(body, tiles, strict=True) if tile is None]
    taken: list[ast.stmt] = []
    start = 0
    for tile in filter(None, tiles):
        stop = next((at for at, each in enumerate(rest) if tile in names_in(each)), 0)
        if stop > start and all(_movable(each, buffers) for each in rest[start:stop]):
            taken += rest[start:stop]
        start = max(start, stop)
    filled = frozenset(name for each in taken for name in _filled(each, buffers))
    return Withheld(frozenset(map(id, taken)), filled)


def copies_by_tma(loop: ast.For, buffers: Mapping[str, Buffer]) -> bool:
    """Whether TMA may make a copy that is a statement of the loop's own.

    It takes rows of whole 16 bytes.
    """
    tiles = filter(None, (_tile(statement, buffers) for statement in _body(loop)))
    return any(_row_bytes(buffers[tile]) % _TMA_BYTES == 0 for tile in tiles)


def _row_bytes(buffer: Buffer) -> int:
    """The bytes of a row; 0 where they are not static."""
    row = buffer.shape[-1] if buffer.shape else None
    bits = _BITS.match(buffer.dtype or "")
    return (row or 0) * int(bits[1]) // 8 if bits is not None else 0


def _body(loop: ast.For) -> list[ast.stmt]:
    """The statements of a loop, those of an `if` that is all of its body in place of it.

    Allocations are none: TileLang makes them parts of the block.
    """
    body = [each for each in loop.body if not _allocates(each)]
    if len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        return [each for each in body[0].body if not _allocates(each)]
    return body


def _allocates(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return value is not None and (called(value) or "").startswith("alloc_")


def _tile(statement: ast.stmt, buffers: Mapping[str, Buffer]) -> str | None:
    """The shared buffer that a statement copies global memory to."""
    target = _copied(statement)
    kinds = _kinds(statement, buffers)
    if target is None or not kinds & _GLOBAL or target not in buffers:
        return None
    return target if buffers[target].kind in _SHARED else None


def _filled(statement: ast.stmt, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    target = _copied(statement)
    if target is not None and target in buffers and buffers[target].kind == "alloc_fragment":
        yield target


def _copied(statement: ast.stmt) -> str | None:
    """The name of the buffer that a statement is a copy to."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or called(call) != "copy":
        return None
    target = argument(call, 1, "dst")
    base = target.value if isinstance(target, ast.Subscript) else target
    return base.id if isinstance(base, ast.Name) else None


def _movable(statement: ast.stmt, buffers: Mapping[str, Buffer]) -> bool:
    """Whether TileLang takes a statement for one that prepares copies."""
    if not isinstance(statement, ast.Expr | ast.For | ast.If):
        return False
    kinds = _kinds(statement, buffers)
    if not kinds & _GLOBAL or kinds & (_SHARED | _LOCAL):
        return False
    nodes = all_below(statement)
    closes = any(called(node) == "finalize_reducer" for node in nodes)
    return not closes and not any(_stores(node, buffers) for node in nodes)


def _stores(node: ast.AST, buffers: Mapping[str, Buffer]) -> bool:
    """Whether a node assigns to an element of anything but a reducer."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return False
    buffer = buffers.get(node.value.id) if isinstance(node.value, ast.Name) else None
    return buffer is None or buffer.kind != "alloc_reducer"


def _kinds(statement: ast.stmt, buffers: Mapping[str, Buffer]) -> frozenset[str]:
    names = names_in(statement)
    return frozenset(buffers[name].kind for name in names if name in buffers)
