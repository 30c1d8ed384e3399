"""Turn markers into code, before TileLang's own passes see them.

An update over global or shared memory is spread over the threads here:

    for i, j in T.Parallel(M, N):             for s in serial(ceildiv(M * N, threads)):
        update(acc, A[i, j], i)        ->         flat = s * threads + tx
                                                  if flat < M * N:
                                                      partial[i] = partial[i] + A[i, j]

An update in a loop that touches fragments waits for the loop's layout (`guard`, `emit`).
A finalize becomes shuffles, an exchange through shared memory, and a loop over the outputs
that combines what was exchanged. TileLang places the barrier between the two, over the
threads that run them, also under warp specialization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reducer_compat import marker, monoids, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_compat.marker import Marker
from reducer_compat.passes import build, hold
from reducer_compat.passes.collect import Collected, Reducer, parallel_nest
from reducer_compat.passes.plan import Plan
from reducer_compat.passes.sites import LAYOUT, Rows, Site, is_fragment, rows_of
from reducer_rules.timeline import Init


@dataclass(frozen=True, slots=True)
class Storage:
    """The buffers of one reducer. `seed` is None where every epoch opens at the identity."""

    plan: Plan
    partial: Any
    exchange: Any
    seed: Any

    @property
    def reducer(self) -> Reducer:
        return self.plan.reducer

    @property
    def buffers(self) -> list[Any]:
        found = [self.partial, self.exchange]
        return found if self.seed is None else [*found, self.seed]


def storage(plan: Plan) -> Storage:
    """Declare the buffers of one reducer."""
    reducer = plan.reducer
    name, dtype = reducer.name, reducer.dtype
    seeded = any(isinstance(e, Init) and e.fill is not None for e in reducer.events)
    return Storage(
        plan,
        build.buffer(f"{name}_partial", plan.slots, dtype, "local"),
        build.buffer(f"{name}_exchange", plan.writers * plan.chunk, dtype, "shared.dyn"),
        build.buffer(f"{name}_seed", 1, dtype, "local") if seeded else None,
    )


def carry(func: Any, collected: Collected, sites: tuple[Site, ...], plans: tuple[Plan, ...]) -> Any:
    """The kernel with its markers turned into code."""
    carrier = _Carrier(
        collected, sites, tuple(storage(plan) for plan in plans), hold.floating(func.body)
    )
    body = tree.transform(func.body, carrier.enter)
    body = tree.transform(body, carrier.allocate)
    return func.with_body(body)


@dataclass(frozen=True, slots=True)
class _Carrier:
    collected: Collected
    sites: tuple[Site, ...]
    storages: tuple[Storage, ...]
    floating: tuple[Any, ...]

    def of(self, buffer: Any) -> Storage:
        return next(s for s in self.storages if s.reducer.buffer.data.same_as(buffer.data))

    def enter(self, stmt: Any) -> Any:
        found = marker.read(stmt)
        if found is not None:
            return self._marker(found)
        site = next((site for site in self.sites if site.loop.same_as(stmt)), None)
        if site is None:
            return None
        self._refuse_thread_index(site)
        if site.needs_layout:
            return self._wait(site)
        return self._spread(site)

    def allocate(self, stmt: Any) -> Any:
        if not isinstance(stmt, adapter().block):
            return None
        mine = [s for s in self.storages if _holds(stmt.alloc_buffers, s.reducer.buffer)]
        body = tree.transform(stmt.body, self.allocate)
        if not mine:
            return None if body.same_as(stmt.body) else adapter().block_copy(stmt, body=body)
        gone = [s.reducer.buffer for s in mine if not s.reducer.in_place]
        kept = [b for b in stmt.alloc_buffers if not _holds(gone, b)]
        added = [buffer for s in mine for buffer in s.buffers]
        return adapter().block_copy(stmt, body=body, alloc_buffers=[*kept, *added])

    def _marker(self, found: Marker) -> Any:
        store = self.of(found.target)
        if found.kind == "alloc":
            opened = any(isinstance(e, Init) for e in store.reducer.events)
            return tree.nothing() if opened else _open(store, None)
        if found.kind == "init":
            return _open(store, found.args[3] if len(found.args) > 3 else None)
        if found.kind == "finalize":
            dst = found.args[3].buffer if len(found.args) > 3 else store.reducer.buffer
            closed = _close(store, dst)
            return tree.sequence([closed, hold.hold(dst)]) if self._floats(dst) else closed
        raise ReducerError(
            "RC005",
            f"a {found.kind} of reducer {found.target.name} passed the rules and has no meaning",
            kernel=self.collected.kernel,
            location=found.text(3 if found.kind == "update" else 2),
            fix="report this kernel",
        )

    def _floats(self, dst: Any) -> bool:
        return any(data.same_as(dst.data) for data in self.floating)

    def _waiting(self, stmt: Any) -> Any:
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
        )
        return adapter().tir.Evaluate(call)

    def _refuse_thread_index(self, site: Site) -> None:
        for stmt in tree.walk(site.loop):
            found = marker.read(stmt)
            exprs = found.args[4:] if found is not None else tree.expressions(stmt)
            mentioned = [var for expr in exprs for var in tree.variables(expr)]
            if any(var.same_as(self.collected.thread) for var in mentioned):
                raise ReducerError(
                    "RC002",
                    "a T.Parallel loop that updates a reducer mentions the thread index: which "
                    "thread runs an iteration is not defined",
                    kernel=self.collected.kernel,
                    location=site.updates[0].text(3),
                    fix="use the variables of the T.Parallel loop",
                )

    def _spread(self, site: Site) -> Any:
        _refuse_local_stores(site, self.collected.kernel)
        narrow = self._narrow(site)
        if narrow is None:
            return self._spread_flat(site)
        return self._spread_rows(site, *narrow)

    def _narrow(self, site: Site) -> tuple[Plan, Rows] | None:
        """The plan that the narrow reducers of a site share, and its rows; None if all are wide."""
        for update in site.updates:
            plan = self.of(update.target).plan
            rows = None if plan.wide else rows_of(plan.reducer, site, update)
            if rows is not None:
                return plan, rows
        return None

    def _wait(self, site: Site) -> Any:
        """Leave the loop to layout inference; where we may, say which layout it should have."""
        loop = tree.transform(site.loop, self._waiting)
        narrow = self._narrow(site)
        if narrow is None:
            return loop
        annotations = {**dict(loop.annotations.items()), LAYOUT: _layout(site, *narrow)}
        return adapter().for_loop(loop, annotations=annotations)

    def _spread_flat(self, site: Site) -> Any:
        nest, body = parallel_nest(site.loop)
        extents = [loop.extent for loop in nest]
        thread, threads = self.collected.thread, self.collected.threads

        def inside(flat: Any) -> Any:
            values = build.unflat(flat, extents)
            mapping = {
                loop.loop_var: loop.min + value for loop, value in zip(nest, values, strict=True)
            }
            return build.substitute(tree.transform(body, self._accumulate), mapping)

        return build.spread(build.product(extents), thread, threads, inside)

    def _accumulate(self, stmt: Any) -> Any:
        found = marker.read(stmt)
        if found is None or found.kind != "update":
            return None
        store = self.of(found.target)
        slot = _slot(store, found)
        return build.accumulate(store.reducer.op, store.partial, slot, found.args[4])

    def _spread_rows(self, site: Site, plan: Plan, rows: Rows) -> Any:
        nest, body = parallel_nest(site.loop)
        row, member = plan.thread // plan.group, plan.thread % plan.group
        width = rows.width(plan.group)
        outputs, rest = [nest[k].extent for k in rows.axes], [nest[k].extent for k in rows.rest]

        def inside(output: Any, reduction: Any) -> Any:
            places = dict(zip(rows.axes, build.unflat(output, outputs), strict=True))
            places |= dict(zip(rows.rest, build.unflat(reduction, rest), strict=True))
            mapping = {loop.loop_var: loop.min + places[k] for k, loop in enumerate(nest)}
            return build.substitute(tree.transform(body, self._accumulate), mapping)

        def chunks(output: Any) -> Any:
            return build.spread(
                rows.span // width,
                member,
                plan.group,
                lambda chunk: build.serial(width, lambda v: inside(output, chunk * width + v)),
            )

        return build.spread(build.product(outputs), row, plan.rows, chunks)


def _slot(store: Storage, found: Marker) -> Any:
    """Which partial of the thread an update goes to."""
    output = build.flat(found.args[5:], store.reducer.shape)
    return output if store.plan.wide else output // store.plan.rows


def _layout(site: Site, plan: Plan, rows: Rows) -> Any:
    """The loop layout in which row `r` visits the outputs `r`, `r + rows`, ..."""
    nest, _ = parallel_nest(site.loop)
    extents = [int(tree.constant(loop.extent) or 1) for loop in nest]
    width = rows.width(plan.group)

    def places(variables: tuple[Any, ...]) -> tuple[Any, Any]:
        output = build.flat([variables[k] for k in rows.axes], [extents[k] for k in rows.axes])
        rest = build.flat([variables[k] for k in rows.rest], [extents[k] for k in rows.rest])
        return output, rest

    def thread(*variables: Any) -> Any:
        output, rest = places(variables)
        return (output % plan.rows) * plan.group + (rest // width) % plan.group

    def index(*variables: Any) -> Any:
        output, rest = places(variables)
        turns = rows.span // plan.group
        return (output // plan.rows) * turns + rest // (width * plan.group) * width + rest % width

    return adapter().fragment(extents, thread, index)


def _holds(buffers: Any, buffer: Any) -> bool:
    return any(one.data.same_as(buffer.data) for one in buffers)


def _refuse_local_stores(site: Site, kernel: str) -> None:
    nest, _ = parallel_nest(site.loop)
    tir = adapter().tir
    for stmt in tree.walk(site.loop):
        if not isinstance(stmt, tir.BufferStore) or str(stmt.buffer.scope()) != "local":
            continue
        mentioned = [var for index in stmt.indices for var in tree.variables(index)]
        if any(var.same_as(loop.loop_var) for var in mentioned for loop in nest):
            raise ReducerError(
                "RC004",
                f"{stmt.buffer.name} is private to a thread but indexed by a T.Parallel variable, "
                "in a loop that also updates a reducer",
                kernel=kernel,
                location=site.updates[0].text(3),
                fix="use a fragment, or store to it in a loop of its own",
            )


def _open(store: Storage, seed: Any) -> Any:
    """Set every partial to the identity, and remember the seed."""
    reducer = store.reducer
    identity = monoids.identity_value(reducer.op, reducer.dtype)
    fill = build.serial(store.plan.slots, lambda slot: build.store(store.partial, identity, slot))
    if store.seed is None:
        return fill
    start = identity if seed is None else seed
    return tree.sequence([fill, build.store(store.seed, start, 0)])


def _close(store: Storage, dst: Any) -> Any:
    """Combine the partials of all participants into `dst`."""
    plan = store.plan
    chunks = -(-plan.outputs // plan.chunk)
    shuffled = _shuffle(store)
    if chunks == 1:
        return tree.sequence([shuffled, _exchange(store, dst, 0, None)])
    return tree.sequence([shuffled, build.serial(chunks, lambda c: _exchange(store, dst, c, c))])


def _exchange(store: Storage, dst: Any, first: Any, chunk: Any) -> Any:
    """Publish and gather one chunk. TileLang places the barriers, where it does not lose them."""
    publish, gather = _publish(store, first), _gather(store, dst, chunk)
    if not (adapter().loses_barriers and store.reducer.closes_in_branch):
        return tree.sequence([publish, gather])
    return tree.sequence([build.barrier(), publish, build.barrier(), gather])


def _shuffle(store: Storage) -> Any:
    plan, reducer = store.plan, store.reducer
    functor = monoids.functor(reducer.op, reducer.dtype)
    if plan.lanes == 1:
        return tree.nothing()
    name = f"tl::AllReduce<tl::{functor}, {plan.lanes}, 1, 0>::run"

    def one(slot: Any) -> Any:
        mine = build.load(store.partial, slot)
        return build.store(store.partial, build.extern(reducer.dtype, name, mine), slot)

    return build.serial(plan.slots, one)


def _publish(store: Storage, chunk: Any) -> Any:
    """Write the partials of one chunk of outputs to the exchange."""
    plan = store.plan
    row, member = plan.thread // plan.group, plan.thread % plan.group
    first = chunk * plan.chunk

    def one(slot: Any) -> Any:
        output = slot * plan.rows + row
        place = (member // plan.lanes) * plan.chunk + output - first
        write = build.store(store.exchange, build.load(store.partial, slot), place)
        conditions = []
        if plan.lanes > 1:
            conditions.append(member % plan.lanes == 0)
        if plan.chunk < plan.outputs:
            conditions += [output >= first, output < first + plan.chunk]
        if plan.slots * plan.rows > plan.outputs:
            conditions.append(output < plan.outputs)
        return build.guarded(conditions, write)

    return build.serial(plan.slots, one)


def _gather(store: Storage, dst: Any, chunk: Any) -> Any:
    """Combine what was exchanged into the destination, with the destination's own layout."""
    plan, reducer = store.plan, store.reducer
    extents = [extent or 1 for extent in reducer.shape]

    def one(indices: list[Any]) -> Any:
        output = build.flat(indices, extents)
        place = output if chunk is None else output - chunk * plan.chunk
        start = (
            monoids.identity_value(reducer.op, reducer.dtype)
            if store.seed is None
            else build.load(store.seed, 0)
        )
        total = build.serial(
            plan.writers,
            lambda writer: build.accumulate(
                reducer.op, dst, indices, build.load(store.exchange, writer * plan.chunk + place)
            ),
        )
        combined = tree.sequence([build.store(dst, start, *indices), total])
        if chunk is None:
            return combined
        first = chunk * plan.chunk
        return build.guarded([output >= first, output < first + plan.chunk], combined)

    if is_fragment(dst):
        return build.parallel(extents, one)
    if str(dst.scope()).startswith("local"):
        return build.nest(extents, one)
    return build.spread(
        plan.outputs, plan.thread, plan.threads, lambda flat: one(build.unflat(flat, extents))
    )
