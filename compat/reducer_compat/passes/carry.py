"""Turn markers into code, before TileLang's own passes see them.

An update over global or shared memory is spread over the threads here (`spread`). An update in
a loop that touches fragments waits for the loop's layout (`guard`, `emit`). An init and a
finalize open and close an epoch (`collective`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.marker import Marker
from reducer_compat.passes import build, hold, split, spread
from reducer_compat.passes.collect import Collected
from reducer_compat.passes.collective import (
    Storage,
    close_epoch,
    exchanges,
    open_epoch,
    storages,
)
from reducer_compat.passes.participants import is_pipelined, participating
from reducer_compat.passes.plan import Plan
from reducer_compat.passes.sites import LAYOUT, Rows, Site, is_fragment, rows_of
from reducer_rules.timeline import Init


def carry(func: Any, collected: Collected, sites: tuple[Site, ...], plans: tuple[Plan, ...]) -> Any:
    """The kernel with its markers turned into code."""
    carrier = _Carrier(
        collected,
        sites,
        storages(plans, collected.rows),
        func.body,
        collected.pipelined,
    )
    return func.with_body(tree.transform(func.body, carrier.enter))


@dataclass(frozen=True)
class _Carrier:
    collected: Collected
    sites: tuple[Site, ...]
    storages: tuple[Storage, ...]
    body: Any
    exposed: bool
    registers: list[tuple[Any, Any]] = field(default_factory=list)
    exchanged: list[Any] = field(default_factory=list)

    def of(self, buffer: Any) -> Storage:
        return next(s for s in self.storages if s.reducer.buffer.data.same_as(buffer.data))

    def enter(self, stmt: Any) -> Any:
        found = marker.read(stmt)
        if found is not None:
            return self._marker(found)
        if type(stmt) is adapter().block:
            return self._block(stmt)
        if type(stmt) is not adapter().tir.For:
            return None
        if self.exposed and is_pipelined(stmt):
            body = tree.transform(stmt.body, replace(self, exposed=False).enter)
            return adapter().for_loop(stmt, body=body)
        site = next((site for site in self.sites if site.loop.same_as(stmt)), None)
        if site is None:
            return None
        if site.needs_layout:
            return self._wait(site)
        spread_out = self._spread(site)
        if not self.exposed:
            return spread_out
        return participating(self.collected.thread, self.collected.threads, spread_out)

    def _block(self, stmt: Any) -> Any:
        """A block, with the buffers that its statements use by now in place of its reducers."""
        before = stmt.body
        body = tree.transform(before, self.enter)
        allocated = tree.items(stmt.alloc_buffers)
        mine = [s for s in self.storages if _holds(allocated, s.reducer.buffer)]
        if not mine:
            return stmt if body is before else adapter().block_copy(stmt, body=body)
        gone = [s.reducer.buffer for s in mine if not s.reducer.in_place]
        kept = [b for b in allocated if not _holds(gone, b)]
        added = [buffer for s in mine for buffer in s.buffers]
        added += [s.exchange for s in mine if _holds(self.exchanged, s.exchange)]
        added += [b for owner, b in self.registers if _holds(allocated, owner)]
        return adapter().block_copy(stmt, body=body, alloc_buffers=[*kept, *added])

    def _marker(self, found: Marker) -> Any:
        store = self.of(found.target)
        if found.kind == "alloc":
            opened = any(isinstance(e, Init) for e in store.reducer.events)
            return tree.nothing() if opened else open_epoch(store, None)
        if found.kind == "init":
            return open_epoch(store, found.args[3] if len(found.args) > 3 else None)
        if found.kind == "finalize":
            dst = found.args[3].buffer if len(found.args) > 3 else store.reducer.buffer
            self.exchanged.extend([store.exchange] if exchanges(store, dst) else [])
            parts = [close_epoch(store, dst, self.exposed)]
            parts += [hold.hold(dst)] if self._floats(dst) else []
            return split.together(store.partial, tree.sequence(parts))
        raise ReducerError(
            "RC005",
            f"a {found.kind} of reducer {found.target.name} passed the rules and has no meaning",
            kernel=self.collected.kernel,
            location=found.text(3 if found.kind == "update" else 2),
            fix="report this kernel",
        )

    def _floats(self, dst: Any) -> bool:
        return is_fragment(dst) and any(data.same_as(dst.data) for data in self._floating)

    @cached_property
    def _floating(self) -> tuple[Any, ...]:
        return hold.floating(self.body)

    def _waiting(self, stmt: Any) -> Any:
        """The marker of an update that waits, as a store: passes see that it writes the partial."""
        found = marker.read(stmt)
        if found is None or found.kind != "update":
            return None
        store = self.of(found.target)
        call = marker.build(
            "partial",
            str(store.reducer.op),
            marker.origin(store.partial),
            _slot(store, found),
            found.args[4],
            store.plan.thread,
            *_spreads_the_loop(store),
            dtype=store.reducer.dtype,
        )
        return build.store(store.partial, call, 0)

    def _spread(self, site: Site) -> Any:
        found = self._rowwise(site)
        if found is None:
            whole = spread.flat(
                site, self.collected.thread, self.collected.threads, self._accumulate
            )
        else:
            whole = spread.by_rows(site, *found, self._accumulate)
        owner = site.updates[0].target
        self.registers.extend((owner, buffer) for buffer in whole.registers)
        return whole.body

    def _accumulate(self, found: Marker, slot: Any) -> Any:
        store = self.of(found.target)
        place = slot if store.plan.rowwise and slot is not None else _slot(store, found)
        return build.accumulate(store.reducer.op, store.partial, place, found.args[4])

    def _rowwise(self, site: Site) -> tuple[Plan, Rows] | None:
        """The plan that the reducers of a site share, and its rows; None for the baseline."""
        for update in site.updates:
            plan = self.of(update.target).plan
            rows = rows_of(plan.reducer, site, update) if plan.rowwise else None
            if rows is not None:
                return plan, rows
        return None

    def _wait(self, site: Site) -> Any:
        """Leave the loop to layout inference; where we may, say which layout it should have."""
        loop = tree.transform(site.loop, self._waiting)
        found = self._rowwise(site)
        if found is None:
            return loop
        annotations = {**dict(loop.annotations.items()), LAYOUT: spread.layout(site, *found)}
        return adapter().for_loop(loop, annotations=annotations)


def _spreads_the_loop(store: Storage) -> list[Any]:
    """What a waiting update mentions so that TileLang spreads its loop over the threads."""
    here = adapter()
    if not here.partitions_stores_alone:
        return []
    one = build.integer(1)
    pointer = here.tvm.ir.Op.get("tl.access_ptr")
    return [here.tir.Call("handle", pointer, [marker.origin(store.exchange), one, one])]


def _slot(store: Storage, found: Marker) -> Any:
    """Which partial of the thread an update goes to."""
    return store.plan.shape.slot(build.flat(found.args[5:], store.reducer.shape))


def _holds(buffers: Any, buffer: Any) -> bool:
    return any(one.data.same_as(buffer.data) for one in buffers)
