"""Open and close an epoch: identities in, and one value for each output out.

A close is shuffles within the warp (`halving`), an exchange through shared memory, and a loop over
the outputs that combines what was exchanged on its way to the destination. TileLang places the
barrier between the two, over the threads that run them, also under warp specialization.

Nothing is exchanged of one output of one warp, which the shuffles leave in every lane, nor where
one warp has all of an output and the destination is memory: a lane writes its totals there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reducer_compat import monoids, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes import build
from reducer_compat.passes.collect import Reducer
from reducer_compat.passes.halving import Combined, combined
from reducer_compat.passes.participants import participating
from reducer_compat.passes.plan import Plan, dtype_bytes
from reducer_compat.passes.project import HANDOVER, marked, writers
from reducer_compat.passes.sites import is_fragment, is_tile
from reducer_rules.monoid import identity
from reducer_rules.timeline import Init

#: Bytes of static shared memory that the exchanges of a kernel take together, at most; a block
#: has 48 KiB.
STATIC_BYTES = 16 * 1024
#: Parts of an output that are combined in one expression, at most.
MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Storage:
    """The buffers of one reducer. `seed` is None where every epoch opens at the identity.

    `rows` are the variables of further dimensions of the thread block. A destination that threads
    share is written by the first row alone: it holds what is combined so far.
    """

    plan: Plan
    partial: Any
    exchange: Any
    seed: Any
    rows: tuple[Any, ...] = ()

    @property
    def reducer(self) -> Reducer:
        return self.plan.reducer

    @property
    def buffers(self) -> list[Any]:
        """What a thread holds."""
        return [self.partial] if self.seed is None else [self.partial, self.seed]


def storages(plans: Sequence[Plan], rows: tuple[Any, ...]) -> tuple[Storage, ...]:
    """Declare the buffers of all reducers of a kernel.

    TileLang puts dynamic shared buffers whose lives do not overlap into the same bytes. It
    takes their lives from the text, also where producers run ahead of it, and compares
    accesses by element, also where dtypes differ. So exchanges are static while they are small.
    """
    found, used = [], 0
    for plan in plans:
        size = plan.writers * plan.chunk * dtype_bytes(plan.reducer.dtype)
        apart = used + size <= STATIC_BYTES
        used += size if apart else 0
        found.append(_storage(plan, "shared" if apart else "shared.dyn", rows))
    return tuple(found)


def _storage(plan: Plan, scope: str, rows: tuple[Any, ...]) -> Storage:
    reducer = plan.reducer
    name, dtype = reducer.name, reducer.dtype
    seeded = any(_enters(e, reducer) for e in reducer.events if isinstance(e, Init))
    return Storage(
        plan,
        build.buffer(f"{name}_partial", plan.kept, dtype, "local"),
        build.buffer(f"{name}_exchange", plan.writers * plan.chunk, dtype, scope),
        build.buffer(f"{name}_seed", 1, dtype, "local") if seeded else None,
        rows,
    )


def _enters(opening: Init, reducer: Reducer) -> bool:
    """Whether an epoch opens with a seed; v1's clear of a sum is no more than its identity."""
    fill = opening.fill
    if fill is None:
        return False
    return fill.number is None or fill.number != identity(reducer.op, reducer.dtype)


def open_epoch(store: Storage, seed: Any) -> Any:
    """Set every partial to the identity, and remember the seed."""
    reducer = store.reducer
    identity = monoids.identity_value(reducer.op, reducer.dtype)
    fill = build.unrolled(store.plan.kept, lambda slot: build.store(store.partial, identity, slot))
    if store.seed is None:
        return fill
    start = identity if seed is None else seed
    return tree.sequence([fill, build.store(store.seed, start, 0)])


def close_epoch(store: Storage, dst: Any, exposed: bool) -> Any:
    """Combine the partials of all participants into `dst`.

    `exposed` is a place where threads that take no part may run, too.

    Others read a shared destination, after a barrier that TileLang places; but from 0.1.9 on it
    first merges conditions that are the same: that of the threads which write the destination
    with that of the statement behind, which may read what another thread wrote.
    """
    closed = _closed(store, dst, exposed)
    if not is_tile(dst):
        return closed
    return tree.sequence([closed, build.barrier(dst)])


def _closed(store: Storage, dst: Any, exposed: bool) -> Any:
    plan = store.plan
    chunks = -(-plan.outputs // plan.chunk)
    lanes = combined(plan.reducer.op, store.partial, plan.kept, plan.lane_bits, plan.thread)
    if _everywhere(plan):
        return tree.sequence([lanes.code, _combine(store, dst, exposed)])
    if _is_direct(plan, dst):
        return tree.sequence([lanes.code, _deliver(store, dst, lanes, exposed)])
    if plan.open:
        return _exchange(store, dst, lanes, None, exposed)
    if chunks == 1:
        return tree.sequence([lanes.code, _exchange(store, dst, lanes, None, exposed)])
    turns = build.serial(chunks, lambda c: _turn(store, dst, lanes, c, exposed))
    return tree.sequence([lanes.code, turns])


def exchanges(store: Storage, dst: Any) -> bool:
    """Whether a close into `dst` goes through the exchange."""
    return not _everywhere(store.plan) and not _is_direct(store.plan, dst)


def _is_direct(plan: Plan, dst: Any) -> bool:
    """Whether the lanes write their totals into `dst`, of which each is that of an output.

    Neighbouring outputs of one thread are left to the exchange on their way to global memory,
    where neighbouring threads should write them.
    """
    scope = str(dst.scope())
    if plan.open or plan.writers > 1 or scope.startswith("local"):
        return False
    return scope != "global" or plan.shape.pack == 1


def _everywhere(plan: Plan) -> bool:
    """Whether the shuffles alone give every participant the only output."""
    return plan.outputs == 1 and plan.lanes == plan.threads


def _combine(store: Storage, dst: Any, exposed: bool) -> Any:
    """Write the only output, which every participant has."""
    plan, total = store.plan, build.load(store.partial, 0)
    if store.seed is not None:
        total = monoids.combine(plan.reducer.op, build.load(store.seed, 0), total)
    written = _over_outputs(store, dst, lambda indices: build.store(dst, total, *indices))
    if exposed and not str(dst.scope()).startswith("local"):
        return participating(plan.thread, plan.threads, written)
    return written


def _extents(store: Storage) -> list[int]:
    return [extent or 1 for extent in store.reducer.shape]


def _turn(store: Storage, dst: Any, lanes: Combined, chunk: Any, exposed: bool) -> Any:
    """One of several chunks. TileLang does not see that the next one overwrites what this reads."""
    turn = _exchange(store, dst, lanes, chunk, exposed)
    return tree.sequence([turn, build.barrier(store.exchange)])


def _exchange(store: Storage, dst: Any, lanes: Combined, chunk: Any, exposed: bool) -> Any:
    """Publish and gather one chunk. TileLang places the barriers, where it does not lose them.

    Where one row of a block gathers what all publish, 0.1.11 and 0.1.12 move the barrier out of
    conditions around both.
    """
    plan = store.plan
    publish, gather = _publish(store, lanes, chunk), _gather(store, dst, chunk)
    if plan.open:
        publish = _open_to_narrowing(store, tree.sequence([lanes.code, publish]))
    if exposed:
        publish = participating(plan.thread, plan.threads, publish)
        if not str(dst.scope()).startswith("local"):
            gather = participating(plan.thread, plan.threads, gather)
    before, after = [], []
    if store.rows or (adapter().loses_barriers and store.reducer.closes_in_branch):
        before = after = [build.barrier(store.exchange)]
    elif str(store.exchange.scope()) != "shared":
        before = [build.barrier(store.exchange)]
    return tree.sequence([*before, publish, *after, gather])


def _open_to_narrowing(store: Storage, publish: Any) -> Any:
    """Mark what `project` may replace when the layouts are known."""
    plan = store.plan
    sizes = (plan.outputs, plan.threads)
    mark = marked(plan.reducer.op, store.partial, store.exchange, sizes, plan.thread)
    return adapter().tir.AttrStmt(store.partial.data, HANDOVER, mark, publish)


def _deliver(store: Storage, dst: Any, lanes: Combined, exposed: bool) -> Any:
    """Write the totals of the lanes to the destination."""
    plan, extents = store.plan, _extents(store)
    seed = [] if store.seed is None else [build.load(store.seed, 0)]

    def write(total: Any, output: Any) -> Any:
        value = monoids.combine_all(plan.reducer.op, [*seed, total])
        return build.store(dst, value, *build.unflat(output, extents))

    written = build.guarded([row == 0 for row in store.rows], _totals(store, lanes, write))
    return participating(plan.thread, plan.threads, written) if exposed else written


def _publish(store: Storage, lanes: Combined, chunk: Any) -> Any:
    """Write the totals of the lanes to the exchange, those of one chunk of outputs."""
    plan = store.plan
    first = 0 if chunk is None else chunk * plan.chunk

    def write(total: Any, output: Any) -> Any:
        place = plan.member // plan.lanes * plan.chunk + output - first
        inside = [output >= first, output < first + plan.chunk]
        written = build.store(store.exchange, total, place)
        return build.guarded(inside if plan.chunk < plan.outputs else [], written)

    return _totals(store, lanes, write)


def _totals(store: Storage, lanes: Combined, write: Callable[[Any, Any], Any]) -> Any:
    """Run `write` for every total and its output, in one lane of those that have it."""
    plan, shape = store.plan, store.plan.shape

    def one(slot: Any) -> Any:
        output = adapter().simplify(shape.output(lanes.first + slot, plan.row))
        conditions = list(lanes.only)
        if plan.kept * shape.rows > plan.outputs:
            conditions.append(output < plan.outputs)
        return build.guarded(conditions, write(build.load(store.partial, slot), output))

    return build.unrolled(lanes.held, one)


def _gather(store: Storage, dst: Any, chunk: Any) -> Any:
    """Combine what was exchanged into the destination, with the destination's own layout."""
    plan, extents = store.plan, _extents(store)

    def one(indices: list[Any]) -> Any:
        output = build.flat(indices, extents)
        if chunk is None:
            return _total(store, dst, indices, output)
        first = chunk * plan.chunk
        total = _total(store, dst, indices, output - first)
        return build.guarded([output >= first, output < first + plan.chunk], total)

    return _over_outputs(store, dst, one)


def _total(store: Storage, dst: Any, indices: list[Any], place: Any) -> Any:
    """Write one output, of which every writer handed over a part."""
    plan, op = store.plan, store.plan.reducer.op
    seed = [] if store.seed is None else [build.load(store.seed, 0)]

    def handed(writer: Any) -> Any:
        return build.load(store.exchange, writer * plan.chunk + place)

    if plan.open:
        return writers(
            plan.writers,
            lambda writer: build.store(
                dst, monoids.combine_all(op, [*seed, handed(writer)]), *indices
            ),
        )
    if plan.writers <= MOST_TERMS:
        terms = [*seed, *(handed(writer) for writer in range(plan.writers))]
        return build.store(dst, monoids.combine_all(op, terms), *indices)
    start = seed[0] if seed else monoids.identity_value(op, plan.reducer.dtype)
    rest = build.serial(
        plan.writers, lambda writer: build.accumulate(op, dst, indices, handed(writer))
    )
    return tree.sequence([build.store(dst, start, *indices), rest])


def _over_outputs(store: Storage, dst: Any, one: Callable[[list[Any]], Any]) -> Any:
    """Run `one` for the indices of every output, where the destination lies."""
    plan, extents = store.plan, _extents(store)
    if is_fragment(dst):
        return build.parallel(extents, one)
    if str(dst.scope()).startswith("local"):
        return build.nest(extents, one)
    spread = build.spread(
        plan.outputs, plan.thread, plan.threads, lambda flat: one(build.unflat(flat, extents))
    )
    return build.guarded([row == 0 for row in store.rows], spread)
