"""Ways to break the code of a reducer: one change to one place of a kernel's TIR.

A mutant is named ``kind:place:change``, so that a failure says what was done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.prove import tags
from reducer_compat.passes.prove.mirror import mirror

#: Buffers of the runtime, by the ends of their names.
OURS = ("_partial", "_pairs", "_exchange", "_seed")


@dataclass(frozen=True)
class Mutant:
    """A broken kernel: one statement of it is replaced."""

    name: str
    whole: Any
    stmt: Any
    replacement: Any

    @property
    def func(self) -> Any:
        """The kernel with the replacement, made when it is asked for."""
        return self.whole.with_body(_replaced(self.whole.body, self.stmt, self.replacement))

    @property
    def kind(self) -> str:
        return self.name.split(":", 1)[0]


def mutants(func: Any) -> Iterator[Mutant]:
    """Every mutant of a kernel, in program order."""
    targets = _destinations(func)
    for number, stmt in enumerate(_touching(func, targets)):
        for change, replacement in _changes(stmt, targets):
            kind, _, what = change.partition(":")
            yield Mutant(f"{kind}:{number}:{what}", func, stmt, replacement)


def _destinations(func: Any) -> set[str]:
    """The names of the buffers that finalizes write."""
    found = set()
    for stmt in tree.walk(func.body):
        read = mirror(stmt)
        if tags.finalize(read) is not None:
            found.add(tags.destination(read).name)
    return found


def _ours(name: str, targets: set[str]) -> bool:
    return name.endswith(OURS) or name in targets


def _touching(func: Any, targets: set[str]) -> list[Any]:
    """The stores to our buffers, waiting updates, and the loops and branches around them."""
    found: list[Any] = []

    def visit(stmt: Any, around: tuple[Any, ...], ended: bool) -> None:
        tir = adapter().tir
        hit = isinstance(stmt, tir.BufferStore) and (
            str(stmt.buffer.name).endswith(OURS) or (str(stmt.buffer.name) in targets and not ended)
        )
        waiting = marker.read(stmt)
        if hit or (waiting is not None and waiting.kind == "partial"):
            found.extend(s for s in (*around, stmt) if not any(s.same_as(f) for f in found))
            return
        if isinstance(stmt, (tir.For, tir.IfThenElse)) or _is_conditional(stmt):
            around = (*around, stmt)
        for child in tree.children(stmt):
            visit(child, around, ended)

    visit(func.body, (), False)
    return found


def _changes(stmt: Any, targets: set[str]) -> Iterator[tuple[str, Any]]:
    tir = adapter().tir
    if isinstance(stmt, tir.For):
        yield from _loops(stmt)
    elif isinstance(stmt, tir.IfThenElse):
        yield from _branches(stmt)
    elif _is_conditional(stmt):
        yield from _predicates(stmt)
    elif isinstance(stmt, tir.BufferStore):
        yield from _stores(stmt)
    else:
        yield from _waiting(stmt)


def _loops(stmt: Any) -> Iterator[tuple[str, Any]]:
    extent = tree.constant(stmt.extent)
    if extent is None or stmt.kind == adapter().tir.ForKind.PARALLEL:
        return
    one = adapter().tir.IntImm(str(stmt.extent.dtype), 1)
    if extent > 1:
        yield "loop:one less", adapter().for_loop(stmt, extent=stmt.extent - one)
    yield "loop:from one", adapter().for_loop(stmt, min=stmt.min + one)


def _branches(stmt: Any) -> Iterator[tuple[str, Any]]:
    tir = adapter().tir
    if stmt.else_case is None:
        yield "guard:dropped", stmt.then_case
    yield "guard:negated", tir.IfThenElse(tir.Not(stmt.condition), stmt.then_case, stmt.else_case)
    for what, condition in _constants(stmt.condition):
        yield f"guard:{what}", tir.IfThenElse(condition, stmt.then_case, stmt.else_case)


def _is_conditional(stmt: Any) -> bool:
    """Whether a block has a predicate, as where a pipeline may be shorter than its stages."""
    return isinstance(stmt, adapter().block_realize) and tree.constant(stmt.predicate) is None


def _predicates(stmt: Any) -> Iterator[tuple[str, Any]]:
    def under(condition: Any) -> Any:
        return adapter().block_realize(stmt.iter_values, condition, stmt.block)

    tir = adapter().tir
    yield "predicate:negated", under(tir.Not(stmt.predicate))
    yield "predicate:dropped", under(tir.IntImm("bool", 1))
    for what, condition in _constants(stmt.predicate):
        yield f"predicate:{what}", under(condition)


def _stores(stmt: Any) -> Iterator[tuple[str, Any]]:
    tir = adapter().tir
    name = str(stmt.buffer.name)
    place = next((end[1:] for end in OURS if name.endswith(end)), "destination")
    for axis, index in enumerate(stmt.indices):
        for what, changed in [("shifted", index + 1), *_constants(index)]:
            indices = [*stmt.indices[:axis], changed, *stmt.indices[axis + 1 :]]
            yield f"{place} index:{what}", tir.BufferStore(stmt.buffer, stmt.value, indices)
    yield f"{place}:store dropped", tir.Evaluate(tir.IntImm("int32", 0))
    yield f"{place}:store twice", tir.SeqStmt([stmt, stmt])
    for what, value in _values(stmt.value, place):
        yield what, tir.BufferStore(stmt.buffer, value, stmt.indices)


def _values(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    tir = adapter().tir
    if tags.contribution(mirror(value)) is not None:
        return
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        yield f"{place} value:another", tir.const(3, str(value.dtype))
        return
    if isinstance(value, tir.Call) and isinstance(value.args[0], tir.StringImm):
        for what, text in _functions(str(value.args[0].value)):
            args = [tir.StringImm(text), *value.args[1:]]
            yield what, tir.Call(value.dtype, value.op, args)
        return
    if isinstance(value, tir.BufferLoad):
        yield from _loads(value, place, lambda load: load)
        yield f"{place} value:identity", tir.const(0, str(value.dtype))
        return
    yield from _exchanged(value)
    if hasattr(value, "a") and hasattr(value, "b"):
        for one, other in ((value.a, value.b), (value.b, value.a)):
            yield f"{place} value:one side", one
            if isinstance(one, tir.BufferLoad):
                rebuild = type(value)
                yield from _loads(one, place, lambda load, r=rebuild, o=other: r(load, o))
        yield f"{place} operator:difference", value.a - value.b


def _exchanged(value: Any) -> Iterator[tuple[str, Any]]:
    """A value with one of its choices between lanes, or one of its shuffles, changed."""
    tir = adapter().tir
    found = tree.nodes(value)
    for number, node in enumerate(n for n in found if isinstance(n, tir.Select)):
        arms = (node.condition, node.false_value, node.true_value)
        yield f"choice:{number} swapped", _exchange(value, node, tir.Select(*arms))
        for what, condition in _constants(node.condition):
            other = tir.Select(condition, node.true_value, node.false_value)
            yield f"choice:{number} {what}", _exchange(value, node, other)
    for node in found:
        if isinstance(node, tir.Call) and "shfl" in str(node.args[0]):
            for what, last in _constants(node.args[3]):
                call = tir.Call(node.dtype, node.op, [*node.args[:3], last])
                yield f"distance:{what}", _exchange(value, node, call)


def _exchange(value: Any, old: Any, new: Any) -> Any:
    """A value with one of its nodes replaced, wherever it stands."""
    tir = adapter().tir
    whole = tir.Evaluate(value)
    change = tir.stmt_functor.ir_transform
    return change(whole, lambda node: new if node.same_as(old) else None, None).value


def _loads(load: Any, place: str, put: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    tir = adapter().tir
    for axis, index in enumerate(load.indices):
        for what, changed in [("shifted", index + 1), *_constants(index)]:
            indices = [*load.indices[:axis], changed, *load.indices[axis + 1 :]]
            yield f"{place} read:{what}", put(tir.BufferLoad(load.buffer, indices))


def _functions(name: str) -> Iterator[tuple[str, str]]:
    """Other arguments of a `tl::AllReduce`."""
    found = re.match(r"^(tl::AllReduce<tl::)(\w+), (\d+), (\d+), (\d+)(.*)$", name)
    if found is None:
        return
    head, functor, rest = found[1], found[2], found[6]
    width, scale, offset = (int(found[k]) for k in (3, 4, 5))

    def made(op: str = functor, w: int = width, s: int = scale, o: int = offset) -> str:
        return f"{head}{op}, {w}, {s}, {o}{rest}"

    yield "width:half", made(w=width // 2)
    if width < 32:
        yield "width:double", made(w=width * 2)
    yield "stride:double", made(s=scale * 2)
    yield "functor:another", made(op="MaxOp" if functor == "SumOp" else "SumOp")


def _waiting(stmt: Any) -> Iterator[tuple[str, Any]]:
    tir = adapter().tir
    args = list(stmt.value.args)
    slot = args[3]
    for what, changed in [("shifted", slot + 1), *_constants(slot)]:
        call = tir.Call(stmt.value.dtype, stmt.value.op, [*args[:3], changed, *args[4:]])
        yield f"partial index:{what}", tir.Evaluate(call)
    yield "partial:store twice", tir.SeqStmt([stmt, stmt])
    yield "partial:store dropped", tir.Evaluate(tir.IntImm("int32", 0))


def _constants(expr: Any) -> Iterator[tuple[str, Any]]:
    """The expression with one of its constants changed."""
    tir = adapter().tir
    count = len([node for node in tree.nodes(expr) if isinstance(node, tir.IntImm)])
    for number in range(count):
        seen = [0]

        def change(node: Any, wanted: int = number, seen: list[int] = seen) -> Any:
            if not isinstance(node, tir.IntImm):
                return None
            seen[0] += 1
            value = int(node.value)
            other = value * 2 if value > 1 else value + 1
            return tir.IntImm(str(node.dtype), other) if seen[0] == wanted + 1 else None

        value = tir.stmt_functor.ir_transform(tir.Evaluate(expr), None, change).value
        if not value.same_as(expr):
            yield f"constant {number}", value


def _replaced(body: Any, old: Any, new: Any) -> Any:
    """The statement `old` replaced everywhere: after unrolling it may stand in several places."""
    return tree.transform(body, lambda stmt: new if stmt.same_as(old) else None)


def touches(stmt: Any) -> bool:
    """Whether a statement stores to a buffer of the runtime, or reads one."""
    tir = adapter().tir
    for inner in tree.walk(stmt):
        if marker.read(inner) is not None:
            return True
        if isinstance(inner, tir.BufferStore):
            loads = [str(load.buffer.name) for load in tree.loads(inner.value)]
            if any(name.endswith(OURS) for name in (str(inner.buffer.name), *loads)):
                return True
    return False
