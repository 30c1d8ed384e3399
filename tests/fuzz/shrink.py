"""The smallest kernel that still differs: greedy steps, each a smaller description.

Steps know what a kernel is: they take away whole outputs, reducers, statements and loops, then
shorten loops and shapes, then simplify expressions. What a step leaves unused goes with it. A
step that makes a kernel illegal, or inexact, is skipped by the caller's test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, cast

from tests.fuzz.expression import Binary, Expr, Load, Number, Var, operands
from tests.fuzz.kernel import (
    Allocate,
    Array,
    Clear,
    Close,
    Copy,
    CopyOut,
    If,
    Kernel,
    Loop,
    Open,
    Stmt,
    Store,
    Update,
    children,
    expressions,
    walk,
)

Node = TypeVar("Node")


def shrunk(
    kernel: Kernel, differs: Callable[[Kernel], bool], tries: int = 300
) -> tuple[Kernel, int]:
    """The smallest kernel found for which `differs` holds, and how many were tried."""
    tried = 0
    progress = True
    while progress and tried < tries:
        progress = False
        for candidate in candidates(kernel):
            if tried >= tries:
                break
            tried += 1
            if differs(candidate):
                kernel, progress = candidate, True
                break
    return kernel, tried


def candidates(kernel: Kernel) -> Iterator[Kernel]:
    """Smaller kernels, the boldest steps first; not all of them are legal."""
    seen = {kernel}
    for step in (_without_reducers, _without_statements, _unrolled, _plainer, _shorter, _simpler):
        for found in step(kernel):
            tidy = tidied(found)
            if tidy not in seen:
                seen.add(tidy)
                yield tidy


# -- what is left over ------------------------------------------------------------------------


def tidied(kernel: Kernel) -> Kernel:
    """The kernel without anything that nothing mentions."""
    while True:
        smaller = _tidied_once(kernel)
        if smaller == kernel:
            return kernel
        kernel = smaller


def _tidied_once(kernel: Kernel) -> Kernel:
    read = _read_names(kernel)
    written = {name for stmt in walk(kernel.body) if (name := _written(stmt))}
    buffers = tuple(b for b in kernel.buffers if b.name in read or b.name in written)
    tiles = {b.name for b in kernel.buffers}
    held = {r.name for r in kernel.reducers if any(_opens(s, r.name) for s in walk(kernel.body))}

    def kept(stmt: Stmt) -> Stmt | None:
        if isinstance(stmt, (Copy, Clear)) and _written(stmt) in tiles - read:
            return None
        empty = isinstance(stmt, Loop) and not stmt.body
        hollow = isinstance(stmt, If) and not stmt.then and not stmt.other
        return None if empty or hollow else stmt

    return replace(
        kernel,
        body=_mapped(kernel.body, kept),
        buffers=buffers,
        arrays=tuple(a for a in kernel.arrays if a.name in read),
        outputs=tuple(o for o in kernel.outputs if o.name in written),
        reducers=tuple(r for r in kernel.reducers if r.name in held),
    )


def _read_names(kernel: Kernel) -> set[str]:
    from tests.fuzz.expression import mentions

    found: set[str] = set()
    for stmt in walk(kernel.body):
        found = found.union(*map(mentions, expressions(stmt)))
        found |= {stmt.source} if isinstance(stmt, (Copy, CopyOut)) else set()
    for reducer in kernel.reducers:
        found |= mentions(reducer.seed) if reducer.seed is not None else set()
    return found


def _written(stmt: Stmt) -> str:
    if isinstance(stmt, (Store, Clear)):
        return stmt.buffer
    if isinstance(stmt, Copy):
        return stmt.target
    return stmt.output if isinstance(stmt, CopyOut) else ""


def _opens(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Open) and stmt.reducer == name


def _mapped(body: tuple[Stmt, ...], change: Callable[[Stmt], Stmt | None]) -> tuple[Stmt, ...]:
    """Every statement changed, inner ones first; None takes it away."""
    found = []
    for stmt in body:
        if isinstance(stmt, Loop):
            stmt = replace(stmt, body=_mapped(stmt.body, change))
        elif isinstance(stmt, If):
            stmt = replace(stmt, then=_mapped(stmt.then, change), other=_mapped(stmt.other, change))
        changed = change(stmt)
        if changed is not None:
            found.append(changed)
    return tuple(found)


# -- steps ------------------------------------------------------------------------------------


def _without_reducers(kernel: Kernel) -> Iterator[Kernel]:
    if len(kernel.reducers) < 2:
        return
    for reducer in kernel.reducers:
        yield replace(kernel, body=_mapped(kernel.body, _without(reducer.name)))


def _without(name: str) -> Callable[[Stmt], Stmt | None]:
    from tests.fuzz.expression import mentions

    def change(stmt: Stmt) -> Stmt | None:
        mine = isinstance(stmt, (Allocate, Open, Close, Update)) and stmt.reducer == name
        shown = isinstance(stmt, CopyOut) and stmt.source == name
        reads = name in set().union(*map(mentions, expressions(stmt)))
        return None if mine or shown or reads else stmt

    return change


def _without_statements(kernel: Kernel) -> Iterator[Kernel]:
    yield from (
        replace(kernel, body=body)
        for body in _rewritten(kernel.body, lambda stmt: [()] if _removable(stmt) else [])
    )


def _removable(stmt: Stmt) -> bool:
    return not isinstance(stmt, (Allocate, Open, Close))


def _unrolled(kernel: Kernel) -> Iterator[Kernel]:
    """A loop or a condition replaced by what is inside it."""

    def steps(stmt: Stmt) -> list[tuple[Stmt, ...]]:
        if isinstance(stmt, If):
            return [arm for arm in (stmt.then, stmt.other) if arm]
        if not isinstance(stmt, Loop):
            return []
        if not stmt.parallel:
            return [tuple(substituted(s, stmt.variables[0], Number(0)) for s in stmt.body)]
        if len(stmt.variables) == 1:
            return []
        return [(_without_axis(stmt, axis),) for axis in range(len(stmt.variables))]

    yield from (replace(kernel, body=body) for body in _rewritten(kernel.body, steps))


def _without_axis(loop: Loop, axis: int) -> Loop:
    name = loop.variables[axis]
    return replace(
        loop,
        variables=loop.variables[:axis] + loop.variables[axis + 1 :],
        extents=loop.extents[:axis] + loop.extents[axis + 1 :],
        body=tuple(substituted(stmt, name, Number(0)) for stmt in loop.body),
    )


def _plainer(kernel: Kernel) -> Iterator[Kernel]:
    """The most usual of everything that is not a statement."""
    for reducer in kernel.reducers:
        for changes in (
            {"seed": None},
            {"batch": 1},
            {"implicit": False},
            {"allocation": 1 if reducer.op != "sum" else 0, "opening": 0},
        ):
            yield _changed(kernel, "reducers", reducer, replace(reducer, **changes))
    dtypes = {one.dtype for one in kernel.parameters} | {one.dtype for one in kernel.reducers}
    yield from (_redtyped(kernel, dtype) for dtype in sorted(dtypes - {"float32"}))
    if kernel.blocks > 1:
        yield replace(kernel, blocks=1)
    if kernel.arch != "sm_75":
        yield replace(kernel, arch="sm_75")
    yield from (replace(kernel, threads=count) for count in (32, 128) if count < kernel.threads)

    def steps(stmt: Stmt) -> list[tuple[Stmt, ...]]:
        if isinstance(stmt, Update):
            plain = replace(stmt, form=0, bound=False)
            return [(plain,)] if plain != stmt else []
        if isinstance(stmt, Loop) and stmt.kind not in ("serial", "parallel"):
            return [(replace(stmt, kind="parallel" if stmt.parallel else "serial", stages=0),)]
        return []

    yield from (replace(kernel, body=body) for body in _rewritten(kernel.body, steps))


def _shorter(kernel: Kernel) -> Iterator[Kernel]:
    """Every extent of some size replaced by a smaller one, wherever it occurs."""
    sizes = {
        extent for stmt in walk(kernel.body) if isinstance(stmt, Loop) for extent in stmt.extents
    }
    sizes |= {extent for reducer in kernel.reducers for extent in reducer.shape}
    for size in sorted(sizes - {1}, reverse=True):
        for smaller in (1, 2, size // 2, size - 1):
            if 0 < smaller < size:
                yield _resized(kernel, size, smaller)


def _redtyped(node: Any, dtype: str) -> Any:
    """A description with float32 for another dtype, wherever it occurs."""
    if not dataclasses.is_dataclass(node):
        return tuple(_redtyped(n, dtype) for n in node) if isinstance(node, tuple) else node
    fields = {f.name: _redtyped(getattr(node, f.name), dtype) for f in dataclasses.fields(node)}
    fields |= {"dtype": "float32"} if fields.get("dtype") == dtype else {}
    return replace(node, **fields)  # type: ignore[type-var]


def _resized(node: Any, size: int, smaller: int) -> Any:
    """A description with one extent replaced in every shape and loop."""
    if not dataclasses.is_dataclass(node):
        return tuple(_resized(n, size, smaller) for n in node) if isinstance(node, tuple) else node
    changes: dict[str, Any] = {}
    for one in dataclasses.fields(node):
        held = getattr(node, one.name)
        if one.name in ("shape", "extents"):
            changes[one.name] = tuple(smaller if extent == size else extent for extent in held)
        elif one.name != "values":
            changes[one.name] = _resized(held, size, smaller)
    return replace(node, **changes)  # type: ignore[type-var]


def _simpler(kernel: Kernel) -> Iterator[Kernel]:
    """Expressions replaced by a part of themselves, arrays by constants and by global memory."""
    tiles = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Copy)]
    for copy in tiles:
        yield _bypassed(kernel, copy)

    def steps(stmt: Stmt) -> list[tuple[Stmt, ...]]:
        if not isinstance(stmt, (Update, Store)):
            return []
        values = [replace(stmt, value=value) for value in _parts(stmt.value)]
        places = [
            replace(stmt, indices=(*stmt.indices[:axis], simple, *stmt.indices[axis + 1 :]))
            for axis, index in enumerate(stmt.indices)
            for simple in _parts(index)
        ]
        return [(changed,) for changed in (*values, *(places if isinstance(stmt, Update) else []))]

    yield from (replace(kernel, body=body) for body in _rewritten(kernel.body, steps))
    for array in kernel.arrays:
        if array.values != (1,):
            yield _changed(kernel, "arrays", array, replace(array, values=(1,)))
    for array in kernel.arrays:
        yield from _narrowed(kernel, array)


def _narrowed(kernel: Kernel, array: Array) -> Iterator[Kernel]:
    """An array without one of its axes, where nothing but plain loads reads it."""
    if any(isinstance(s, Copy) and s.source == array.name for s in walk(kernel.body)):
        return
    for axis in range(len(array.shape) if len(array.shape) > 1 else 0):
        shape = array.shape[:axis] + array.shape[axis + 1 :]

        def change(expr: Expr, axis: int = axis) -> Expr:
            if not isinstance(expr, Load) or expr.buffer != array.name:
                return expr
            return replace(expr, indices=expr.indices[:axis] + expr.indices[axis + 1 :])

        smaller = _changed(kernel, "arrays", array, replace(array, shape=shape))
        yield _rebuilt(smaller, change)


def _parts(expr: Expr) -> list[Expr]:
    simple: list[Expr] = [] if isinstance(expr, Number) else [Number(1), Number(0)]
    if isinstance(expr, (Load, Var)):
        return simple
    parts = [part for part in operands(expr) if not isinstance(part, Number)]
    if isinstance(expr, Binary) and expr.op in ("<", "<=", ">", "=="):
        return []
    return [*parts, *simple]


def _bypassed(kernel: Kernel, copy: Copy) -> Kernel:
    """A tile replaced by what it is a copy of."""
    rank = len(kernel.shape_of(copy.source))
    leading = copy.start[: rank - len(kernel.shape_of(copy.target))]

    def change(expr: Expr) -> Expr:
        if not isinstance(expr, Load) or expr.buffer != copy.target:
            return expr
        return replace(expr, buffer=copy.source, indices=(*leading, *expr.indices))

    def forwarded(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Copy) and stmt.source == copy.target:
            return replace(stmt, source=copy.source, start=copy.start, sliced=copy.sliced)
        return stmt

    return replace(kernel, body=_mapped(_rebuilt(kernel, change).body, forwarded))


def _changed(kernel: Kernel, where: str, old: Any, new: Any) -> Kernel:
    held = getattr(kernel, where)
    changes: dict[str, Any] = {where: tuple(new if one is old else one for one in held)}
    return replace(kernel, **changes)


def _rewritten(
    body: tuple[Stmt, ...], steps: Callable[[Stmt], list[tuple[Stmt, ...]]]
) -> Iterator[tuple[Stmt, ...]]:
    """Every body in which one statement is replaced by one of its `steps`, outer ones first."""
    for place, stmt in enumerate(body):
        before, after = body[:place], body[place + 1 :]
        for instead in steps(stmt):
            yield (*before, *instead, *after)
    for place, stmt in enumerate(body):
        before, after = body[:place], body[place + 1 :]
        for arm, inner in enumerate(children(stmt)):
            for changed in _rewritten(inner, steps):
                yield (*before, _with_arm(stmt, arm, changed), *after)


def _with_arm(stmt: Stmt, arm: int, body: tuple[Stmt, ...]) -> Stmt:
    if isinstance(stmt, If):
        return replace(stmt, then=body) if arm == 0 else replace(stmt, other=body)
    assert isinstance(stmt, Loop)
    return replace(stmt, body=body)


# -- expressions ------------------------------------------------------------------------------


def _rebuilt(node: Node, change: Callable[[Expr], Expr]) -> Node:
    """A description with every expression changed, inner ones first."""
    if isinstance(node, tuple):
        return tuple(_rebuilt(item, change) for item in node)  # type: ignore[return-value]
    if not dataclasses.is_dataclass(node):
        return node
    fields = {f.name: _rebuilt(getattr(node, f.name), change) for f in dataclasses.fields(node)}
    fresh: Any = replace(node, **fields)  # type: ignore[type-var]
    result: Any = change(fresh) if type(fresh).__module__.endswith("expression") else fresh
    return cast(Node, result)


def substituted(node: Node, name: str, value: Expr) -> Node:
    """A statement or expression with `value` in the place of a variable."""
    return _rebuilt(
        node, lambda expr: value if isinstance(expr, Var) and expr.name == name else expr
    )
