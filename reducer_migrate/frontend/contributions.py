"""Updates: what each contributes, and what the parallel loops around it do beside it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, TypedDict

from reducer_migrate.frontend.operands import has_collective, operands_of
from reducer_migrate.frontend.recorder import Place, Recorder, Site, Tracker
from reducer_migrate.frontend.rows import reduced_rows, row_values, updated_rows
from reducer_migrate.frontend.syntax import names_in, span_of
from reducer_migrate.frontend.tiles import part_tiles, tile_axes, touches_memory
from reducer_migrate.frontend.updates import Leaf, without_leaf
from reducer_rules.monoid import Op
from reducer_rules.timeline import Loop, Operands, RowValues, Update, UpdateForm


class Written(NamedTuple):
    """An update as it is written: the indices of the element, and the value.

    The value of a combine store holds the element itself, which `leaf` leads to.
    """

    form: UpdateForm
    indices: Sequence[ast.expr]
    value: ast.expr
    combine: Op | None = None
    leaf: Leaf | None = None


class Beside(TypedDict):
    """The fields of an update that tell of the whole nest; see `Update`."""

    part_tiles: tuple[tuple[str, ...], ...]
    touches_memory: bool
    withheld: Loop | None


class Contributions:
    """Records updates, with the nest of parallel loops that they are in."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._facts = facts = recorder.facts
        self._nest: ast.For | None = None
        reduces = ".reduce_" in facts.source.text
        self._rows = reduced_rows(facts.scope, facts.buffers) if reduces else {}

    def enter(self, loop: ast.For) -> bool:
        """Go into a parallel loop; False where it is inside another, whose nest it belongs to."""
        if self._nest is not None:
            return False
        self._nest = loop
        return True

    def leave(self) -> None:
        """Come out of the loop that `enter` said True to."""
        self._nest = None

    def add(
        self, tracker: Tracker, written: Written, node: ast.expr | ast.stmt, place: Place
    ) -> int:
        """Record one update, which is `node`. Gives the event's ident."""
        leaf, value = written.leaf, written.value
        typed = value if leaf is None else without_leaf(value, leaf)
        alone = leaf is None or len(leaf.path) == 1
        event = Update(
            **self._recorder.stamp(node, place),
            form=written.form,
            combine=written.combine,
            indices=self._facts.indices(written.indices),
            contribution=self._facts.text(typed) if alone else "",
            contribution_dtype=self._facts.dtype(typed),
            value_span=span_of(value),
            operands=self._operands(),
            row_values=self._row_values(tracker, written.indices),
            tile=self._tile(),
            **self._beside(),
        )
        self._recorder.add(tracker, event, Site(place.statement, node, leaf))
        return event.ident

    def finalized(self, tracker: Tracker, result: str) -> None:
        """Note which rows a result holds values of, where every update combined the same ones."""
        combined = set(tracker.rows)
        rows = combined.pop() if len(combined) == 1 else None
        if rows is not None:
            self._rows[result] = rows._replace(name=result, reducer=True)

    def _operands(self) -> Operands | None:
        if self._nest is None:
            return None
        found = operands_of(self._nest, self._facts.buffers, lambda: self._collective)
        return found if self._knows_fragments or found is Operands.MEMORY else None

    @property
    def _knows_fragments(self) -> bool:
        """Whether all uses of the fragments are in this function, which is then no macro."""
        return self._recorder.passage is None

    @cached_property
    def _collective(self) -> bool:
        return has_collective(self._facts.scope, self._facts.buffers)

    def _tile(self) -> tuple[str, ...]:
        if self._nest is None or not self._knows_fragments:
            return ()
        return tile_axes(self._nest, self._facts.scope, self._facts.buffers)

    def _beside(self) -> Beside:
        """What else of the nest matters to the threads that run it."""
        if self._nest is None or not self._knows_fragments:
            return {"part_tiles": (), "touches_memory": False, "withheld": self._recorder.withheld}
        scope, buffers = self._facts.scope, self._facts.buffers
        starved = self._recorder.starved
        read = (starved[name] for name in sorted(names_in(self._nest) & set(starved)))
        return {
            "part_tiles": part_tiles(self._nest, scope, buffers),
            "touches_memory": touches_memory(self._nest, buffers),
            "withheld": self._recorder.withheld or next(read, None),
        }

    def _row_values(self, tracker: Tracker, indices: Sequence[ast.expr]) -> RowValues | None:
        """The row values that an update reads; notes the rows that it combines itself."""
        if self._nest is None or not self._knows_fragments:
            tracker.rows.append(None)
            return None
        scope, buffers = self._facts.scope, self._facts.buffers
        tracker.rows.append(updated_rows(self._nest, indices, scope, buffers))
        if not self._rows:
            return None
        return row_values(self._nest, indices, self._rows, buffers, tracker.name)
