"""Decide how one reducer is rewritten, or why it cannot be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from reducer_migrate.frontend import Reducer
from reducer_migrate.frontend.members import unparsed
from reducer_migrate.frontend.syntax import argument
from reducer_migrate.rewrite.actions import (
    Action,
    CloseEpoch,
    ConvertUpdate,
    Key,
    OpenEpoch,
    Plan,
    Refusal,
    RemoveInit,
    Rename,
    RewriteAlloc,
    RewriteUpdate,
)
from reducer_migrate.rewrite.flags import moves_of
from reducer_migrate.rewrite.language import Language
from reducer_rules import Fix, Op
from reducer_rules.epochs import apart, is_identity
from reducer_rules.monoid import integer_bounds
from reducer_rules.timeline import (
    Alloc,
    Dialect,
    Event,
    Finalize,
    Init,
    InitForm,
    Load,
    Store,
    Timeline,
    Update,
    UpdateForm,
)


class _Names(NamedTuple):
    """The names a plan writes: the language, and the result fragment."""

    base: str
    result: str


def make_plan(
    reducer: Reducer, dialect: Dialect, taken: set[str], language: Language, *, unsafe: bool = False
) -> Plan | Refusal:
    """Plan the rewrite of `reducer` into `dialect`; adds the result's name to `taken`."""
    reached = language.of(reducer)
    if isinstance(reached, Refusal):
        return reached
    moves = moves_of(reducer)
    if isinstance(moves, Refusal):
        return moves
    names = _Names(reached.base, fresh(f"{reducer.timeline.name}_result", taken))
    actions = [*_actions(reducer, dialect, names), *moves]
    fix = Fix.UNSAFE if unsafe else Fix.SAFE
    imports = reached.base if reached.imports else None
    return Plan(reducer.timeline.name, tuple(actions), fix, imports)


def fresh(wanted: str, taken: set[str]) -> str:
    """`wanted`, or the first of `wanted_2`, `wanted_3`, ... that is not taken; then taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def _actions(reducer: Reducer, dialect: Dialect, names: _Names) -> Iterator[Action]:
    timeline = reducer.timeline
    in_place = any(event.destination is None for event in timeline.finalizes)
    closed = False
    for event in timeline.events:
        if isinstance(event, Alloc):
            yield from _alloc(reducer, event, dialect, names, in_place)
        elif isinstance(event, Init):
            closed = False
            yield from _init(reducer, event, dialect, names)
        elif isinstance(event, Update):
            yield from _update(reducer, event, dialect, names)
        elif isinstance(event, Finalize):
            closed = True
            if event.destination is None:
                yield CloseEpoch(Key.of(reducer.statement(event)), names.result)
        elif isinstance(event, Load | Store) and closed and in_place:
            yield Rename(Key.of(reducer.sites[event.ident].node), names.result)


def _alloc(
    reducer: Reducer, event: Alloc, dialect: Dialect, names: _Names, in_place: bool
) -> Iterator[Action]:
    implicit = not reducer.timeline.inits and dialect is Dialect.SHIPPED
    if in_place or implicit or event.replication is not None:
        yield RewriteAlloc(
            Key.of(reducer.statement(event)),
            names.result if in_place else None,
            names.base,
            _one_line(reducer, event, 0, event.shape_text),
            _one_line(reducer, event, 1, event.dtype_text),
            reducer.timeline.name if implicit else None,
        )


def _one_line(reducer: Reducer, event: Alloc, position: int, text: str) -> str:
    """The text of an argument; normalized where it spans lines, which may hold comments."""
    if "\n" not in text and "\r" not in text:
        return text
    call = reducer.call(event)
    if position < len(call.args):
        return unparsed(call.args[position])
    name = ("shape", "dtype")[position]
    return next(unparsed(key.value) for key in call.keywords if key.arg == name)


def _init(reducer: Reducer, event: Init, dialect: Dialect, names: _Names) -> Iterator[Action]:
    statement = Key.of(reducer.statement(event))
    if event.form is InitForm.REDUCER_INIT:
        if dialect is Dialect.RFC and event.fill is None and _beside_alloc(reducer, event):
            yield RemoveInit(statement, names.base)
        return
    opening = _opening(reducer, event, statement, names)
    plain = opening.seed is None and not opening.keep
    if dialect is Dialect.RFC and plain and _beside_alloc(reducer, event):
        yield RemoveInit(statement, names.base)
    else:
        yield opening


def _beside_alloc(reducer: Reducer, event: Init) -> bool:
    """Whether the epoch opens exactly when the reducer is allocated, and no macro opens it."""
    timeline = reducer.timeline
    if reducer.sites[event.ident].passage is not None:
        return False
    return len(timeline.inits) == len(timeline.allocs) and any(
        alloc.context == event.context for alloc in timeline.allocs
    )


def _opening(reducer: Reducer, event: Init, statement: Key, names: _Names) -> OpenEpoch:
    """How an epoch opens: plainly at the identity, else with a seed of the reducer's dtype."""
    timeline = reducer.timeline
    op = _op_at(timeline, event)
    if event.fill is None:
        seed = None if op is Op.SUM else "0"
        return OpenEpoch(statement, names.base, seed)
    if op is not None and is_identity(op, timeline.dtype, event.fill):
        return OpenEpoch(statement, names.base)
    return OpenEpoch(statement, names.base, keep=True, cast=_seed_cast(reducer, event))


def _op_at(timeline: Timeline, event: Event) -> Op | None:
    """The combine of the allocations that may be in force at `event`, where they agree."""
    ops = {alloc.op for alloc in timeline.allocs if not apart(alloc.context, event.context)}
    return ops.pop() if len(ops) == 1 else None


def _seed_cast(reducer: Reducer, event: Init) -> str | None:
    """The dtype to cast a seed to; None for Python numbers and values of that dtype already.

    `reducer_init` refuses an expression of another dtype (0.1.14, 0.1.15).
    """
    fill = event.fill
    alloc = reducer.timeline.allocs[0]
    assert fill is not None
    value = argument(reducer.call(event), 1, "value")
    if value is not None and _is_python_number(value):
        return None
    if fill.dtype is not None and fill.dtype in (alloc.dtype, f"${alloc.dtype_text}"):
        return None
    return alloc.dtype_text


def _is_python_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_python_number(node.operand)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "float"
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) in ("math.inf", "np.inf", "numpy.inf")
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _update(reducer: Reducer, event: Update, dialect: Dialect, names: _Names) -> Iterator[Action]:
    statement = Key.of(reducer.statement(event))
    rfc = dialect is Dialect.RFC
    if event.form in (UpdateForm.SHIPPED, UpdateForm.RFC):
        if rfc != (event.form is UpdateForm.RFC):
            yield ConvertUpdate(statement, rfc)
        return
    negate = event.form is UpdateForm.SUBTRACT
    alloc = reducer.timeline.allocs[0]
    cast = alloc.dtype_text if negate and _cast_first(event, alloc) else None
    leaf = reducer.sites[event.ident].leaf
    wraps = negate and _is_unsigned(reducer.timeline.dtype)
    yield RewriteUpdate(statement, names.base, rfc, leaf, negate, cast, wraps)


def _cast_first(event: Update, alloc: Alloc) -> bool:
    """Whether a contribution must be cast before it can be negated: bool and unsigned values.

    So may be one whose dtype is a parameter (`$dtype`), unless it is that of the reducer.
    """
    dtype = event.contribution_dtype
    if dtype is not None and dtype.startswith("$"):
        return dtype != f"${alloc.dtype_text}"
    return _is_unsigned(dtype)


def _is_unsigned(dtype: str | None) -> bool:
    bounds = None if dtype is None else integer_bounds(dtype)
    return bounds is not None and bounds[0] == 0
