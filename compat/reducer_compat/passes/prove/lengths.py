"""The tensors that say how long a loop is: lengths of sequences, and where these start.

What memory holds is not known to a count, and a condition on it may hold and may not. That is
too little of a length: a pass that writes turns out, before a loop and after it, guards them by
the same length, and a guard that goes either way counts turns that no length has. So what such a
tensor holds is a number, one for each assumption, like a size that is given at launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from reducer_compat.passes.prove.mirror import nodes, read_marker


def lengths(body: Any, is_parallel: Callable[[Any], bool]) -> frozenset[int]:
    """The data variables of the tensors whose elements are lengths of loops around `T.Parallel`.

    Not those of which an element names an output, or that the kernel stores to.
    """
    reader = _Reader(is_parallel)
    reader.read(body)
    return frozenset(reader.lengths - reader.others)


@dataclass(slots=True)
class _Reader:
    is_parallel: Callable[[Any], bool]
    lengths: set[int] = field(default_factory=set)
    others: set[int] = field(default_factory=set)
    held: dict[int, frozenset[int]] = field(default_factory=dict)

    def read(self, body: Any) -> None:
        waiting = [(body, False)]
        while waiting:
            stmt, spread = waiting.pop()
            if stmt.type == "For":
                found = self._loaded((stmt.min, stmt.extent))
                (self.others if spread else self.lengths).update(found)
                spread = spread or self.is_parallel(stmt)
            elif stmt.type in ("LetStmt", "Bind"):
                self.held[stmt.var.key] = self._loaded((stmt.value,))
            elif stmt.type == "BufferStore":
                self.others.add(stmt.buffer.data.key)
            else:
                self._update(stmt)
            waiting += [(child, spread) for child in stmt.children[::-1]]

    def _update(self, stmt: Any) -> None:
        found = read_marker(stmt)
        if found is not None and found.kind == "update":
            self.others.update(self._loaded(found.args[5:]))

    def _loaded(self, exprs: Iterable[Any]) -> frozenset[int]:
        """The data variables of the tensors that values are made of."""
        found: set[int] = set()
        for node in (node for expr in exprs for node in nodes(expr)):
            if node.type == "BufferLoad" and node.buffer.scope in ("", "global"):
                found.add(node.buffer.data.key)
            elif node.type == "Var":
                found |= self.held.get(node.key, frozenset())
        return frozenset(found)
