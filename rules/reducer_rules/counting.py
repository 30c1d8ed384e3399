"""How often the contributions of a reducer count up to TileLang 0.1.13, where that is known."""

from __future__ import annotations

from reducer_rules.monoid import Op
from reducer_rules.nest import Nest, fully_replicated, is_power_of_two, nest_of
from reducer_rules.replication import replicas, threads_per_row, tiles
from reducer_rules.timeline import Operands, RowValues, Timeline, Update

#: Operations that give the same result however often a value is combined.
_IDEMPOTENT = frozenset({Op.MAX, Op.MIN, Op.BITAND, Op.BITOR})


def times_counted(threads: int, nest: Nest, update: Update) -> int | None:
    """How often a v1 contribution enters the result of a replicated reducer.

    None where neither the extents nor the operands decide it, and where the loop does not compile.
    """
    if not tiles(threads, nest.parallel, nest.serial):
        return None
    times = replicas(threads, nest.parallel, nest.serial)
    if update.row_values is not None and not update.row_values.reducer:
        return _times_of_rows(threads, update.row_values, times)
    return times if update.operands in (Operands.MEMORY, Operands.ELEMENTWISE) else None


def _times_of_rows(threads: int, values: RowValues, times: int | None) -> int | None:
    """The same for a loop that takes over the layout of one value for each row of a tile.

    Rows that take all threads leave the loop to be dealt as any other, `times`.
    """
    sharing = threads_per_row(threads, values.rows, values.columns, values.bits)
    return times if sharing is not None and sharing >= threads else sharing


def factors(timeline: Timeline) -> frozenset[int | None]:
    """What `times_counted` says of each site of a v1 reducer; 1 where repeating changes nothing."""
    if timeline.op in _IDEMPOTENT or not fully_replicated(timeline):
        return frozenset({1})
    return frozenset(_factor(timeline, update) for update in timeline.updates)


def _factor(timeline: Timeline, update: Update) -> int | None:
    threads, nest = timeline.kernel.threads, nest_of(update)
    if nest is None or threads is None or not is_power_of_two(threads):
        return None
    return times_counted(threads, nest, update)
