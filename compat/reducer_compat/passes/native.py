"""Leave a kernel to TileLang's own reducers, in mode auto, where they suffice.

They suffice where this module can tell so from the kernel alone; all else is lowered by us.
Their known faults (a batch other than 1, internal errors on other numbers of threads and tiles)
and the kernels on which they are slower (operands in global or shared memory, pipelines) are
outside of what it takes:

- every reducer is written in v2, with one epoch, no batch, outside of branches and pipelines,
  and is finalized into a fragment;
- it is a sum, max or min of float32, float16, bfloat16 or int32;
- the threads are a power of two along threadIdx.x;
- its loops hold nothing but updates, which read fragments that are copied from memory and used
  nowhere else; their extents are powers of two, and they visit each output in one row.
"""

from __future__ import annotations

import math
from typing import Any

from reducer_compat import ladder, marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.choice import Choice, remember
from reducer_compat.ladder import Feature
from reducer_compat.modes import Mode, mode
from reducer_compat.passes.collect import Collected, Reducer, parallel_nest
from reducer_compat.passes.plan import forced_wide
from reducer_compat.passes.sites import Site, is_fragment, rows_of
from reducer_rules.monoid import Op
from reducer_rules.nest import is_power_of_two
from reducer_rules.timeline import Branch, Dialect, Finalize, Init, InitForm, dialect_of

_OPS = frozenset({Op.SUM, Op.MAX, Op.MIN})
#: Partials that TileLang keeps in one thread, at most.
_OUTPUTS = 256
_DTYPES = frozenset({"float32", "float16", "bfloat16", "int32"})


def choose(func: Any, collected: Collected, sites: tuple[Site, ...]) -> bool:
    """Whether TileLang's own reducers should lower `func`; the choice is remembered."""
    reason = _why_not(func, collected, sites)
    if not reason:
        ladder.use(Feature.NATIVE)
    remember(Choice(collected.kernel, not reason, reason))
    return not reason


def _why_not(func: Any, collected: Collected, sites: tuple[Site, ...]) -> str:
    if mode() is not Mode.AUTO:
        return f"the mode is {mode()}"
    if not adapter().native_v2:
        return f"TileLang {adapter().release} has no v2 reducers"
    if ladder.gave_up(Feature.NATIVE):
        return "TileLang failed with its own"
    if forced_wide():
        return "the wide plan is asked for"
    if collected.rows or not _power_of_two(collected.threads):
        return "the threads are no power of two along one dimension"
    if collected.pipelined:
        return "the kernel has a pipelined loop"
    of_reducers = (_reducer(reducer) for reducer in collected.reducers)
    of_sites = (_site(collected, site) for site in sites)
    return next(filter(None, (*of_reducers, _destinations(func), *of_sites)), "")


def _reducer(reducer: Reducer) -> str:
    inits = [e for e in reducer.events if isinstance(e, Init)]
    finalizes = [e for e in reducer.events if isinstance(e, Finalize)]
    if any(dialect_of(event) is Dialect.V1 for event in reducer.events) or reducer.in_place:
        return f"{reducer.name} is written in v1"
    if len(inits) != 1 or len(finalizes) != 1 or inits[0].form is not InitForm.REDUCER_INIT:
        return f"{reducer.name} has not one epoch of its own"
    if any(isinstance(f, Branch) for event in reducer.events for f in event.context):
        return f"{reducer.name} is used in a branch"
    if finalizes[0].batch is not None:
        return f"{reducer.name} has a batch"
    if reducer.op not in _OPS or reducer.dtype not in _DTYPES:
        return f"{reducer.name} is a {reducer.op} of {reducer.dtype}"
    if not all(_power_of_two(extent) for extent in reducer.shape):
        return f"the shape of {reducer.name} is no power of two"
    if math.prod(extent or 1 for extent in reducer.shape) > _OUTPUTS:
        return f"{reducer.name} has more than {_OUTPUTS} outputs"
    return ""


def _site(collected: Collected, site: Site) -> str:
    nest, _ = parallel_nest(site.loop)
    extents = [tree.constant(loop.extent) for loop in nest]
    if not all(_power_of_two(extent) for extent in extents):
        return "a loop of updates has an extent that is no power of two"
    if math.prod(extent or 1 for extent in extents) % collected.threads:
        return "a loop of updates does not divide over the threads"
    if not site.layout_is_open:
        return "an update reads something else than a fragment that is only copied to"
    for update in site.updates:
        reducer = collected.of(update.target)
        if reducer is None or rows_of(reducer, site, update) is None:
            return "an update visits its outputs by something else than the loops around it"
    return ""


def _power_of_two(extent: int | None) -> bool:
    return extent is not None and is_power_of_two(extent)


def _destinations(func: Any) -> str:
    found = [marker.read(stmt) for stmt in tree.walk(func.body)]
    closes = [one for one in found if one is not None and one.kind == "finalize"]
    whole = all(len(one.args) > 3 and is_fragment(one.args[3].buffer) for one in closes)
    return "" if whole else "a destination is no fragment"


def to_native(func: Any, collected: Collected) -> Any:
    """The kernel in the operations of TileLang's own reducers."""
    opaque = [_opaque(reducer) for reducer in collected.reducers]
    pairs = list(zip(collected.reducers, opaque, strict=True))

    def enter(stmt: Any) -> Any:
        if type(stmt) is adapter().block:
            return _block(stmt, pairs, enter)
        found = marker.read(stmt)
        return None if found is None else _operation(found, pairs)

    return tree.rewritten(func, enter)


Pairs = list[tuple[Reducer, Any]]


def _opaque(reducer: Reducer) -> Any:
    old = reducer.buffer
    return adapter().tir.decl_buffer(old.shape, old.dtype, old.name, scope="local.reducer")


def _of(buffer: Any, pairs: Pairs) -> Any:
    return next(new for old, new in pairs if old.buffer.data.same_as(buffer.data))


def _block(block: Any, pairs: Pairs, enter: Any) -> Any:
    mine = [
        (old, new)
        for old, new in pairs
        if any(old.buffer.data.same_as(buffer.data) for buffer in block.alloc_buffers)
    ]
    body = tree.transform(block.body, enter)
    if not mine:
        return adapter().block_copy(block, body=body)
    kept = [
        buffer
        for buffer in block.alloc_buffers
        if not any(old.buffer.data.same_as(buffer.data) for old, _ in mine)
    ]
    info = {new.data: {"op": str(old.op)} for old, new in mine}
    annotations = {**dict(block.annotations.items()), "reducer_info_v2": info}
    buffers = [*kept, *(new for _, new in mine)]
    return adapter().block_copy(block, body=body, alloc_buffers=buffers, annotations=annotations)


def _operation(found: Any, pairs: Pairs) -> Any:
    from tilelang.language import reduce_op

    tir = adapter().tir
    if found.kind == "alloc":
        return tree.nothing()
    reducer = _of(found.target, pairs)
    if found.kind == "init":
        return tir.Evaluate(reduce_op.reducer_init(reducer, *found.args[3:4]))
    if found.kind == "update":
        output = tir.BufferLoad(reducer, list(found.args[5:]))
        return tir.Evaluate(reduce_op.reducer_update(output, found.args[4]))
    return tir.Evaluate(reduce_op.finalize_reducer(reducer, found.args[3].buffer))
