"""Small constructors of TIR statements, shared by the passes that write code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reducer_compat import monoids, tree
from reducer_compat.adapter import adapter
from reducer_rules.monoid import Op


def integer(value: int) -> Any:
    return adapter().tir.IntImm("int32", value)


def _operand(value: Any) -> Any:
    return integer(value) if isinstance(value, int) else value


def buffer(name: str, elements: int, dtype: str, scope: str) -> Any:
    """A new one-dimensional buffer."""
    return adapter().tir.decl_buffer((elements,), dtype, name, scope=scope)


def load(source: Any, *indices: Any) -> Any:
    return adapter().tir.BufferLoad(source, [_operand(index) for index in indices])


def store(target: Any, value: Any, *indices: Any) -> Any:
    return adapter().tir.BufferStore(target, value, [_operand(index) for index in indices])


def accumulate(op: Op, target: Any, index: Any, value: Any) -> Any:
    """``target[index] = target[index] op value``."""
    indices = index if isinstance(index, list) else [index]
    return store(target, monoids.combine(op, load(target, *indices), value), *indices)


def extern(dtype: str, name: str, *args: Any) -> Any:
    here = adapter()
    return here.tir.Call(dtype, here.op("call_extern"), [here.tir.StringImm(name), *args])


def annotated(stmt: Any, key: str, value: Any) -> Any:
    """A statement that calls a tile operation, with one more annotation of the call."""
    tir, call = adapter().tir, stmt.value
    annotations = {**dict(call.annotations.items()), key: value}
    return tir.Evaluate(tir.Call(call.dtype, call.op, call.args, annotations), tree.span_of(stmt))


def barrier(exchange: Any) -> Any:
    """A barrier of the participants, for what they do to `exchange`."""
    return barrier_for(str(exchange.scope()))


def barrier_for(scope: str) -> Any:
    """A barrier of the block, for what its threads do to memory of a scope."""
    here = adapter()
    name = here.tir.StringImm(scope)
    return here.tir.Evaluate(here.tir.Call("int32", here.op("tvm_storage_sync"), [name]))


def _loop(extent: Any, kind: Any, name: str, body: Callable[[Any], Any]) -> Any:
    tir = adapter().tir
    var = tir.Var(name, "int32")
    return tir.For(var, integer(0), _operand(extent), kind, body(var))


def serial(extent: Any, body: Callable[[Any], Any]) -> Any:
    """A serial loop; a single iteration is written without one."""
    if tree.constant(extent) == 1:
        return body(integer(0))
    return _loop(extent, adapter().tir.ForKind.SERIAL, "r", body)


def unrolled(extent: int, body: Callable[[Any], Any]) -> Any:
    """A loop that is written out; a single iteration is written without one."""
    if extent == 1:
        return body(integer(0))
    var = adapter().tir.Var("u", "int32")
    return unrolled_over(var, extent, body(var))


def unrolled_over(var: Any, extent: int, body: Any) -> Any:
    """A loop over a given variable that is written out, by the compiler of the device code."""
    tir = adapter().tir
    hint = {"pragma_unroll_explicit": False}
    kind = tir.ForKind.UNROLLED
    return tir.For(var, integer(0), integer(extent), kind, body, None, hint)


def unrolled_nest(extents: Sequence[int], body: Callable[[list[Any]], Any]) -> Any:
    """Loops over all of `extents` that are written out."""
    if not extents:
        return body([])
    return unrolled(extents[0], lambda i: unrolled_nest(extents[1:], lambda rest: body([i, *rest])))


def vectorized(extent: int, body: Callable[[Any], Any]) -> Any:
    """A loop whose iterations become the lanes of vector instructions."""
    return _loop(extent, adapter().tir.ForKind.VECTORIZED, "v", body)


def nest(extents: Sequence[Any], body: Callable[[list[Any]], Any]) -> Any:
    """Serial loops over all of `extents`."""
    if not extents:
        return body([])
    return serial(extents[0], lambda i: nest(extents[1:], lambda rest: body([i, *rest])))


def parallel(extents: Sequence[Any], body: Callable[[list[Any]], Any]) -> Any:
    """A `T.Parallel` nest over `extents`, for TileLang to lay out."""
    if not extents:
        return body([])
    kind = adapter().tir.ForKind.PARALLEL
    return _loop(
        extents[0], kind, "o", lambda i: parallel(extents[1:], lambda rest: body([i, *rest]))
    )


def guarded(conditions: Sequence[Any], body: Any) -> Any:
    """`body` under all of `conditions`."""
    for condition in reversed(conditions):
        body = adapter().tir.IfThenElse(condition, body, None)
    return body


def spread(total: Any, lane: Any, lanes: int, body: Callable[[Any], Any], unroll: int = 0) -> Any:
    """Run `body` for `0 .. total - 1`, number `k` in lane ``k % lanes``.

    Up to `unroll` turns are written out.
    """
    size = tree.constant(total)
    if size is None:
        turns = (total + integer(lanes - 1)) // integer(lanes)
        return serial(turns, lambda s: _within(s * lanes + lane, total, body))
    loop = unrolled if size <= unroll * lanes else serial
    if size % lanes == 0:
        return loop(size // lanes, lambda s: body(s * lanes + lane))
    return loop(-(-size // lanes), lambda s: _within(s * lanes + lane, total, body))


def _within(flat: Any, total: Any, body: Callable[[Any], Any]) -> Any:
    return guarded([flat < total], body(flat))


def product(extents: Sequence[Any]) -> Any:
    """The product of extents: a Python number where all are constants."""
    total: Any = 1
    for extent in extents:
        value = tree.constant(extent)
        total = total * (extent if value is None else value)
    return total


def flat(indices: Sequence[Any], extents: Sequence[Any]) -> Any:
    """The row-major position of `indices`; a negative constant counts from the end."""
    position: Any = integer(0)
    for index, extent in zip(indices, extents, strict=True):
        value = tree.constant(index)
        if value is not None and value < 0 and isinstance(extent, int):
            index = integer(value + extent)
        position = position * extent + index
    return adapter().simplify(position)


def unflat(position: Any, extents: Sequence[Any]) -> list[Any]:
    """The row-major indices at `position`."""
    indices: list[Any] = []
    for place in range(len(extents)):
        stride = product(extents[place + 1 :])
        index = position if tree.constant(stride) == 1 else position // stride
        indices.append(index if place == 0 else index % extents[place])
    return indices


def substitute(stmt: Any, mapping: Mapping[Any, Any]) -> Any:
    """`stmt` with variables replaced."""
    return adapter().tir.stmt_functor.substitute(stmt, dict(mapping))
