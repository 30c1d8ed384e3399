"""Loops: of which kind one is, how far it runs, and who agrees on its variables."""

from __future__ import annotations

import ast

from reducer_migrate.frontend.facts import Facts
from reducer_migrate.frontend.operands import copies_to_shared
from reducer_migrate.frontend.producers import copies_by_tma
from reducer_migrate.frontend.syntax import argument, bound_names, called, span_of
from reducer_rules.timeline import Condition, Loop, LoopKind

_KINDS = {
    "Parallel": LoopKind.PARALLEL,
    "serial": LoopKind.SERIAL,
    "Serial": LoopKind.SERIAL,
    "grid": LoopKind.SERIAL,
    "range": LoopKind.SERIAL,
    "unroll": LoopKind.UNROLL,
    "Unroll": LoopKind.UNROLL,
    "Pipelined": LoopKind.PIPELINED,
    "Persistent": LoopKind.PERSISTENT,
    "vectorized": LoopKind.VECTORIZED,
    "Vectorized": LoopKind.VECTORIZED,
}
#: Those whose arguments are extents, one for each variable; the others take a start and a stop.
_NESTS = frozenset({"Parallel", "grid"})
_TRACED_ITERATORS = frozenset({"enumerate", "zip", "reversed", "sorted", "list", "tuple", "items"})
_VARIABLES = {
    LoopKind.PARALLEL: Condition.THREAD,
    LoopKind.VECTORIZED: Condition.THREAD,
    LoopKind.TRACE: Condition.COMPILE_TIME,
    LoopKind.UNKNOWN: Condition.UNKNOWN,
}


def loop_of(node: ast.For, ident: int, facts: Facts) -> Loop:
    """The frame that a `for` statement puts around its body."""
    kind = _kind(node.iter, facts)
    extents: tuple[int | None, ...] = ()
    stages = None
    if isinstance(node.iter, ast.Call):
        extents = _extents(node.iter, facts)
        given = argument(node.iter, len(node.iter.args), "num_stages")
        stages = 0 if given is None else facts.number(given)
    names = tuple(bound_names(node.target))
    staged = kind is LoopKind.PIPELINED and copies_to_shared(node, facts.buffers)
    by_tma = not staged or copies_by_tma(node, facts.buffers)
    return Loop(ident, kind, span_of(node), names, extents, stages, staged, by_tma)


def condition_of_variables(kind: LoopKind) -> Condition:
    """When, and for whom, the variables of a loop of this kind have a value."""
    return _VARIABLES.get(kind, Condition.UNIFORM)


def _kind(iterable: ast.expr, facts: Facts) -> LoopKind:
    name = called(iterable)
    if name in _KINDS:
        return _KINDS[name]
    literal = isinstance(iterable, ast.List | ast.Tuple | ast.Set | ast.Dict)
    if literal or name in _TRACED_ITERATORS:
        return LoopKind.TRACE
    compile_time = facts.conditions.of(iterable) is Condition.COMPILE_TIME
    if isinstance(iterable, ast.Name | ast.Attribute) and compile_time:
        return LoopKind.TRACE
    return LoopKind.UNKNOWN


def _extents(call: ast.Call, facts: Facts) -> tuple[int | None, ...]:
    """The trip counts of a loop, None for each that is not static."""
    parts = [facts.number(value) for value in call.args]
    if called(call) in _NESTS:
        return tuple(parts)
    if len(parts) == 1:
        return (parts[0],)
    if len(parts) == 2 and parts[0] is not None and parts[1] is not None:
        return (max(0, parts[1] - parts[0]),)
    return (None,)
