"""Which parameters a kernel writes, read from the program before TileLang lowers it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reducer_compat.simt.lowering import installed

READ, WRITE = 1, 2


def written_by(prim_func: Any) -> frozenset[str]:
    """The names of the tensors that something stores into."""
    return frozenset(name for name, access in _accesses(prim_func) if access & WRITE)


def outputs_of(prim_func: Any) -> frozenset[str]:
    """The names of the tensors that are stored into and never read, not even by an atomic."""
    read = {name for name, access in _accesses(prim_func) if access & READ}
    return written_by(prim_func) - read


def _accesses(prim_func: Any) -> Iterator[tuple[str, int]]:
    """A tensor's name and `READ | WRITE` for each place that uses a parameter."""
    _, _, tir = installed()
    names = {buffer.data: str(buffer.name) for buffer in prim_func.buffer_map.values()}
    nodes = tir.nodes(prim_func.body)
    # The load inside a region or a pointer says where, not that anything is read there.
    places: set[Any] = set()
    for node in nodes:
        if isinstance(node, tir.module.Call):
            access = _access(node, tir)
            if access is not None:
                places.add(node.args[0])
                if node.args[0].buffer.data in names:
                    yield names[node.args[0].buffer.data], access
    for node in nodes:
        if isinstance(node, tir.module.BufferStore) and node.buffer.data in names:
            yield names[node.buffer.data], WRITE
            continue
        loaded = isinstance(node, tir.module.BufferLoad) and node not in places
        if loaded and node.buffer.data in names:
            yield names[node.buffer.data], READ


def _access(call: Any, tir: Any) -> int | None:
    """What a region or a pointer is for; None where the call is neither."""
    if not call.args or not isinstance(call.args[0], tir.module.BufferLoad):
        return None
    name = tir.op_name(call).rsplit(".", 1)[-1]
    if name == "region":
        return int(call.args[1])
    if name == "access_ptr":
        return int(call.args[2])
    return READ | WRITE if name == "address_of" else None
