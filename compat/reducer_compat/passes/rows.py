"""Find epochs in which the threads of a block differ where they must not.

TileLang spreads a loop of updates over all threads of a row: what it gives to one that does not
come to the loop, or not as often, is lost. So no condition and no length of a loop around one may
depend on threadIdx.x, nor on what a thread keeps for itself and computed from it.

The rows of threadIdx.x are replicas: TileLang spreads loops over x alone, and each row does all
of the kernel. A statement of a reducer that depends on threadIdx.y or threadIdx.z has a meaning
for each row, and no reducer could say which counts: it may mention neither them, nor what a
thread keeps for itself and computed from them, nor be where they decide. All else may: rows may
load a tile together, or choose which of them stores a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.errors import ReducerError
from reducer_compat.marker import Marker
from reducer_compat.passes.collect import Collected

#: Where the operands of a marker begin that are values, not names.
_VALUES = {"init": 3, "update": 4, "store": 3}


def refuse_divergent(func: Any, collected: Collected) -> None:
    """See that no statement of a reducer depends on the row of its thread.

    Raises:
        ReducerError: RC004, with the line of the statement.
    """
    if not collected.rows:
        return
    found = next((mark for mark, _ in _differing(func, collected.rows)), None)
    if found is not None:
        raise ReducerError(
            "RC004",
            f"the {found.kind} of reducer {found.target.name} depends on threadIdx.y or "
            "threadIdx.z: the rows of a thread block are replicas of each other",
            kernel=collected.kernel,
            location=found.text(3 if found.kind == "update" else 2),
            fix="use T.Kernel(..., threads=N), or the variables of T.Parallel loops",
        )


def refuse_alone(func: Any, collected: Collected) -> None:
    """See that all threads of a row come to a statement of a reducer, and equally often.

    Raises:
        ReducerError: RC002, with the line of the statement.
    """
    if not any(map(_may_part, statements(func))):
        return
    differing = _differing(func, (collected.thread,))
    found = next((mark for mark, apart in differing if apart), None)
    if found is not None:
        raise ReducerError(
            "RC002",
            f"the {found.kind} of reducer {found.target.name} is under a condition, or in a loop, "
            "that differs between threads: what it gives to others is lost",
            kernel=collected.kernel,
            location=found.text(3 if found.kind == "update" else 2),
            fix="use a condition on the variables of the T.Parallel loop, inside of it",
        )


def _may_part(stmt: Any) -> bool:
    """Whether threads may go another way at a statement than others."""
    if type(stmt) not in tree.branching():
        return False
    return any(tree.constant(expr) is None for expr in tree.expressions(stmt))


def _differing(func: Any, variables: Iterable[Any]) -> list[tuple[Marker, bool]]:
    """The statements of reducers that depend on some variables, and whether in where they are."""
    known = _Differences({hash(var) for var in variables})
    while True:  # what a loop computes, its next turn reads
        size = len(known.data)
        found = list(known.differing(func.body, False))
        if len(known.data) == size:
            return found


@dataclass
class _Differences:
    """What differs between threads: variables, and the data of buffers private to one."""

    data: set[int] = field(default_factory=set)

    def differing(self, stmt: Any, apart: bool) -> Iterator[tuple[Marker, bool]]:
        """The statements of reducers under `stmt` that differ; what they compute is added.

        With each, and in `apart`: whether it is where threads may not meet, or not equally often.
        """
        found = marker.read(stmt)
        if found is not None:
            first = _VALUES.get(found.kind, len(found.args))
            differs = apart or any(map(self._differs, found.args[first:]))
            if differs and found.kind not in ("alloc", "line"):
                yield found, apart
            return
        differs = apart or any(map(self._differs, tree.expressions(stmt)))
        if differs:
            self._write(stmt)
        inside = type(stmt) in tree.branching() and differs
        for child in tree.children(stmt):
            yield from self.differing(child, apart or inside)

    def _differs(self, expr: Any) -> bool:
        return any(hash(load.buffer.data) in self.data for load in tree.loads(expr)) or any(
            hash(var) in self.data for var in tree.variables(expr)
        )

    def _write(self, stmt: Any) -> None:
        """Keep what a statement gives another value in each thread."""
        tir = adapter().tir
        if type(stmt) is tir.BufferStore:
            self._add(stmt.buffer)
        elif type(stmt) is tir.Evaluate:  # an operation on tiles may write each of them
            for load in tree.loads(stmt.value):
                self._add(load.buffer)
        elif type(stmt) is tir.For:
            self.data.add(hash(stmt.loop_var))
        elif hasattr(stmt, "var"):
            self.data.add(hash(stmt.var))

    def _add(self, buffer: Any) -> None:
        if str(buffer.scope()).startswith("local"):
            self.data.add(hash(buffer.data))
