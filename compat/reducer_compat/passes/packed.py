"""Let a thread accumulate 16-bit floats in pairs.

A run of updates of one partial is a chain: each waits for the one before. GPUs add, multiply and
compare two 16-bit floats in one instruction, so neighbours of a run go to the two halves of a pair:

    for i in unroll(16):                          for k in unroll(8):
        p[i // 8] = p[i // 8] + a[i] * b[i % 8]       for v in vectorized(2):
                                                          pair[k // 4 * 2 + v] = pair[...] + ...

    opening:    p[u], pair[2 * u], pair[2 * u + 1] = identity
    finalize:   p[u] = p[u] + (pair[2 * u] + pair[2 * u + 1]), before the threads combine theirs

What is not such a run goes on into `p`. A kernel stays as it is where the two neighbours are not
proven to have one partial, one guard, and operands side by side in registers; on other targets;
and on TileLang 0.1.8, which takes vectors of 16-bit floats apart.

32-bit floats are left alone: no GPU before sm_100 has instructions for pairs of them, and two
accumulators would only cost registers where memory is what a kernel waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reducer_compat import monoids, tree
from reducer_compat.adapter import adapter
from reducer_compat.draft import statements
from reducer_compat.passes import build
from reducer_compat.passes.evaluate import Array, evaluate
from reducer_compat.passes.project import MOST
from reducer_compat.passes.prove.mirror import mirror
from reducer_compat.passes.prove.tags import CONTRIBUTION, FINALIZE, is_identity
from reducer_rules.monoid import Op

#: Contributions of a run, at least: a shorter chain is over before pairs pay for themselves.
LEAST = 8
#: Partials of a thread, at most: each takes a register more.
MOST_PARTIALS = 32
_DTYPES = ("float16", "bfloat16")


class _NotPairedError(Exception):
    """Two neighbours of a run cannot be shown to fit into one pair."""


@dataclass(frozen=True, slots=True)
class _Space:
    """The variables around a statement, each with how many values it takes from 0 on."""

    variables: tuple[tuple[Any, int], ...]

    def inside(self, stmt: Any) -> _Space:
        """The space in the body of a statement: that of a loop, and that of a launch, is larger."""
        tir = adapter().tir
        if type(stmt) is tir.For and tree.constant(stmt.min) == 0:
            var, extent = stmt.loop_var, tree.constant(stmt.extent)
        elif type(stmt) is tir.AttrStmt and stmt.attr_key == "thread_extent":
            var, extent = stmt.node.var, tree.constant(stmt.value)
        else:
            return self
        return self if extent is None else _Space((*self.variables, (var, extent)))

    def values(self, expr: Any, var: Any, extent: int) -> tuple[Array, Array]:
        """An expression where `var` is even, and where it is one more.

        Raises:
            _NotPairedError: it depends on something unknown, or takes too many values.
        """
        mentioned = tree.variables(expr)
        known = [(v, n) for v, n in self.variables if any(v.same_as(one) for one in mentioned)]
        known = [(v, n) for v, n in known if not v.same_as(var)]
        sizes = [extent // 2, *(n for _, n in known)]
        if np.prod(sizes, dtype=np.int64) > MOST:
            raise _NotPairedError
        even, *rest = np.indices(sizes).reshape(len(sizes), -1)
        others = [(v, line) for (v, _), line in zip(known, rest, strict=True)]
        try:
            first, second = (evaluate(expr, [(var, 2 * even + lane), *others]) for lane in range(2))
        except LookupError as error:
            raise _NotPairedError from error
        return np.broadcast_to(first, even.shape), np.broadcast_to(second, even.shape)


@dataclass(frozen=True, slots=True)
class _Run:
    """A loop whose updates go to pairs: its variable, the guards of the update, the update."""

    loop: Any
    guards: tuple[Any, ...]
    store: Any
    op: Op
    space: _Space


@dataclass(slots=True)
class _Partial:
    """What a kernel does to a partial outside of its finalize.

    `is_open` says, at the place the survey is at, whether an epoch was opened and not closed.
    """

    buffer: Any
    is_open: bool = False
    openings: list[Any] = field(default_factory=list)
    ops: set[Op] = field(default_factory=set)
    runs: list[tuple[Any, Any]] = field(default_factory=list)
    pairs: Any = None


def packed(func: Any) -> Any:
    """The kernel with runs of updates in pairs; the same kernel where there are none."""
    if not _applies(func):
        return func
    partials = _partials(func)
    if not partials:
        return func
    for partial in partials.values():
        extent = 2 * int(tree.constant(partial.buffer.shape[0]) or 0)
        name, dtype = f"{partial.buffer.name}_pairs", str(partial.buffer.dtype)
        partial.pairs = build.buffer(name, extent, dtype, "local")
    loops = [
        (loop, _paired(run, partials[hash(run.store.buffer.data)].pairs))
        for partial in partials.values()
        for loop, run in partial.runs
    ]
    return tree.rewritten(func, lambda stmt: _rewritten(stmt, partials, loops))


def _applies(func: Any) -> bool:
    return tree.target_kind(func) == "cuda" and adapter().pairs_halves


# What there is


def _partials(func: Any) -> dict[int, _Partial]:
    """The partials that pairs are of use for, by the hash of their data."""
    arrays = {
        hash(buffer.data): _Partial(buffer)
        for buffer in tree.allocated(statements(func))
        if _is_small_array(buffer)
    }
    if not arrays:
        return {}
    _survey(func.body, _Space(()), arrays)
    return {key: one for key, one in arrays.items() if one.runs and _is_complete(one)}


def _is_complete(partial: _Partial) -> bool:
    """Whether all updates are of one op, and every epoch opens with what changes nothing in it."""
    openings = [mirror(store.value) for store in partial.openings]
    return len(partial.ops) == 1 and all(is_identity(one, *partial.ops) for one in openings)


def _is_small_array(buffer: Any) -> bool:
    """Whether a buffer may be a partial to pair; its name spares others a closer look."""
    if str(buffer.dtype) not in _DTYPES or not str(buffer.name).endswith("_partial"):
        return False
    if str(buffer.scope()) != "local":
        return False
    extents = [tree.constant(extent) for extent in tree.items(buffer.shape)]
    return len(extents) == 1 and extents[0] is not None and extents[0] <= MOST_PARTIALS


def _survey(stmt: Any, space: _Space, arrays: dict[int, _Partial]) -> None:
    """Note what is done to each array; those that are used in other ways are taken out."""
    tir = adapter().tir
    if type(stmt) is tir.AttrStmt and stmt.attr_key == FINALIZE:
        _close(stmt, arrays)
        return
    space = space.inside(stmt)
    if type(stmt) is tir.For:
        run = _run(stmt, space)
        if run is not None and (mine := arrays.get(hash(run.store.buffer.data))):
            mine.runs.append((stmt, run))
    _use(stmt, arrays)
    for child in tree.children(stmt):
        _survey(child, space, arrays)


def _close(finalize: Any, arrays: dict[int, _Partial]) -> None:
    """Note the end of an epoch; an array whose epoch ends twice is taken out."""
    for key in _read(finalize.body):
        mine = arrays.get(key)
        if mine is not None and not mine.is_open:
            del arrays[key]
        elif mine is not None:
            mine.is_open = False


def _use(stmt: Any, arrays: dict[int, _Partial]) -> None:
    """Note what one statement does to the arrays."""
    read = [load for expr in tree.expressions(stmt) for load in tree.loads(expr)]
    if type(stmt) is adapter().tir.BufferStore:
        mine = arrays.get(hash(stmt.buffer.data))
        if mine is not None:
            op = _op(stmt)
            if op is not None and mine.is_open:
                mine.ops.add(op)
                read = [load for load in read if not load.same_as(stmt.value.a)]
            elif _is_constant(stmt.value):
                mine.openings.append(stmt)
                mine.is_open = True
            else:
                del arrays[hash(stmt.buffer.data)]
    for load in read:
        arrays.pop(hash(load.buffer.data), None)


def _is_constant(expr: Any) -> bool:
    tir = adapter().tir
    return not any(isinstance(node, (tir.Var, tir.BufferLoad)) for node in tree.nodes(expr))


def _op(store: Any) -> Op | None:
    """What a store combines into its own element, None where it does something else."""
    tir = adapter().tir
    ops = {tir.Add: Op.SUM, tir.Mul: Op.PROD, tir.Max: Op.MAX, tir.Min: Op.MIN}
    op = ops.get(type(store.value))
    if op is None or type(store.value.a) is not tir.BufferLoad:
        return None
    own, equal = store.value.a, adapter().tvm.ir.structural_equal
    if not own.buffer.data.same_as(store.buffer.data) or not _is_contribution(store.value.b):
        return None
    return op if equal(own.indices, store.indices) else None


def _is_contribution(expr: Any) -> bool:
    if type(expr) is not adapter().tir.Call or not len(expr.args):
        return False
    return str(getattr(expr.args[0], "value", "")) == CONTRIBUTION


def _run(loop: Any, space: _Space) -> _Run | None:
    """The run of updates that a loop is, None where it is something else."""
    tir = adapter().tir
    extent = tree.constant(loop.extent)
    if loop.kind not in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED) or extent is None:
        return None
    if tree.constant(loop.min) != 0 or extent < LEAST or extent % 2:
        return None
    body, guards = loop.body, []
    while type(body) is tir.IfThenElse and body.else_case is None:
        guards.append(body.condition)
        body = body.then_case
    op = _op(body) if type(body) is tir.BufferStore and len(body.indices) == 1 else None
    if op is None:
        return None
    run = _Run(loop, tuple(guards), body, op, space)
    return run if _is_paired(run) else None


def _is_paired(run: _Run) -> bool:
    """Whether neighbours of a run have one partial, one guard, and operands side by side."""
    var, extent = run.loop.loop_var, tree.constant(run.loop.extent) or 0
    if str(run.store.value.dtype) not in _DTYPES:
        return False
    try:
        for expr in (*run.store.indices, *run.guards):
            if _mentions(expr, var) and not _equal(*run.space.values(expr, var, extent)):
                return False
        _Lanes(run, build.integer(0), build.integer(0)).of(run.store.value.b)
    except _NotPairedError:
        return False
    return True


def _mentions(expr: Any, var: Any) -> bool:
    return any(var.same_as(one) for one in tree.variables(expr))


def _equal(one: Array, other: Array) -> bool:
    return bool(np.array_equal(one, other))


# What becomes of it


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Turns the value of a run into that of both lanes of pair `pair`."""

    run: _Run
    pair: Any
    lane: Any

    def of(self, expr: Any) -> Any:
        """An expression in lane `lane`.

        Raises:
            _NotPairedError: the lanes would not be side by side.
        """
        tir = adapter().tir
        if not _mentions(expr, self.run.loop.loop_var):
            return expr
        if _is_contribution(expr):
            name, value, *ids = tree.items(expr.args)
            args = [name, self.of(value), *(self.at(one, self.lane) for one in ids)]
            return tir.Call(expr.dtype, expr.op, args)
        if type(expr) in (tir.Add, tir.Sub, tir.Mul, tir.Max, tir.Min):
            return type(expr)(self.of(expr.a), self.of(expr.b))
        if type(expr) is tir.BufferLoad:
            return self._load(expr)
        raise _NotPairedError

    def at(self, expr: Any, lane: Any) -> Any:
        """An expression of integers where the variable of the run is ``2 * pair + lane``."""
        place = {self.run.loop.loop_var: self.pair * 2 + lane}
        return adapter().simplify(adapter().tir.stmt_functor.substitute(expr, place))

    def _load(self, load: Any) -> Any:
        if str(load.buffer.scope()) != "local" or len(load.indices) != 1:
            raise _NotPairedError
        (index,) = load.indices
        var, extent = self.run.loop.loop_var, tree.constant(self.run.loop.extent) or 0
        first, second = self.run.space.values(index, var, extent)
        start = self.at(index, 0)
        if _equal(first, second):
            return build.load(load.buffer, start)
        if _equal(first + 1, second) and not np.any(first % 2):
            return build.load(load.buffer, start + self.lane)
        raise _NotPairedError


def _paired(run: _Run, pairs: Any) -> Any:
    """The run with its updates in pairs."""

    def one(pair: Any) -> Any:
        first = _Lanes(run, pair, build.integer(0))
        (index,) = run.store.indices

        def lane(number: Any) -> Any:
            value = _Lanes(run, pair, number).of(run.store.value.b)
            return build.accumulate(run.op, pairs, first.at(index, 0) * 2 + number, value)

        return build.guarded(
            [first.at(guard, 0) for guard in run.guards], build.vectorized(2, lane)
        )

    return build.unrolled((tree.constant(run.loop.extent) or 0) // 2, one)


Loops = list[tuple[Any, Any]]


def _rewritten(stmt: Any, partials: dict[int, _Partial], loops: Loops) -> Any:
    tir = adapter().tir

    def enter(inner: Any) -> Any:
        return _rewritten(inner, partials, loops)

    if type(stmt) is tir.For:
        return next((code for loop, code in loops if loop.same_as(stmt)), None)
    if type(stmt) is tir.BufferStore:
        partial = partials.get(hash(stmt.buffer.data))
        opens = partial is not None and any(one.same_as(stmt) for one in partial.openings)
        return _opened(stmt, partial) if opens else None
    if type(stmt) is tir.AttrStmt and stmt.attr_key == FINALIZE:
        folds = [_folded(partials[key]) for key in _read(stmt.body) if key in partials]
        body = tree.sequence([*folds, stmt.body])
        return tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body, tree.span_of(stmt))
    if type(stmt) is adapter().block:
        buffers = tree.items(stmt.alloc_buffers)
        added = [partials[key].pairs for b in buffers if (key := hash(b.data)) in partials]
        if added:
            body = tree.transform(stmt.body, enter)
            return adapter().block_copy(stmt, body=body, alloc_buffers=[*buffers, *added])
    return None


def _opened(store: Any, partial: Any) -> Any:
    """An opening, of the pairs too."""
    (slot,) = store.indices
    lanes = [build.store(partial.pairs, store.value, slot * 2 + lane) for lane in range(2)]
    return tree.sequence([store, *lanes])


def _folded(partial: _Partial) -> Any:
    """Combine the pairs into the partials, before the threads combine theirs."""
    (op,) = partial.ops

    def one(slot: Any) -> Any:
        halves = [build.load(partial.pairs, slot * 2 + lane) for lane in range(2)]
        return build.accumulate(op, partial.buffer, slot, monoids.combine(op, *halves))

    return build.unrolled(tree.constant(partial.buffer.shape[0]) or 0, one)


def _read(stmt: Any) -> Iterator[int]:
    """The data of the buffers that a statement reads, each once."""
    found: dict[int, None] = {}
    for inner in tree.walk(stmt):
        for expr in tree.expressions(inner):
            found.update(dict.fromkeys(hash(load.buffer.data) for load in tree.loads(expr)))
    return iter(found)
