"""Decide how one reducer is rewritten, or why it cannot be."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reducer_migrate.frontend import Reducer
from reducer_migrate.frontend.syntax import argument, names_in
from reducer_migrate.rewrite.actions import (
    Action,
    CloseEpoch,
    ConvertUpdate,
    Guard,
    Hoist,
    Key,
    OpenEpoch,
    Plan,
    RemoveInit,
    Rename,
    RewriteAlloc,
    RewriteUpdate,
)
from reducer_rules import Fix, Op
from reducer_rules.epochs import apart, is_identity
from reducer_rules.monoid import integer_bounds
from reducer_rules.timeline import (
    Alloc,
    Branch,
    Condition,
    Dialect,
    Event,
    Finalize,
    Frame,
    Init,
    InitForm,
    Load,
    Store,
    Timeline,
    Update,
    UpdateForm,
)


class Refusal(NamedTuple):
    """Why a reducer that the rules allow is left alone, at one of its events."""

    code: str
    event: Event
    message: str
    help: str


class _Names(NamedTuple):
    """The names a plan writes: the language, and the result fragment."""

    base: str
    result: str


def make_plan(
    reducer: Reducer, dialect: Dialect, taken: set[str], *, unsafe: bool = False
) -> Plan | Refusal:
    """Plan the rewrite of `reducer` into `dialect`; adds the result's name to `taken`."""
    base = _base(reducer)
    if isinstance(base, Refusal):
        return base
    moves = _moves(reducer)
    if isinstance(moves, Refusal):
        return moves
    if not moves:
        moves = _alloc_moves(reducer)
        if isinstance(moves, Refusal):
            return moves
    names = _Names(base, fresh(f"{reducer.timeline.name}_result", taken))
    actions = [*_actions(reducer, dialect, names), *moves]
    fix = Fix.UNSAFE if unsafe else Fix.SAFE
    return Plan(reducer.timeline.name, tuple(actions), fix)


def fresh(wanted: str, taken: set[str]) -> str:
    """`wanted`, or the first of `wanted_2`, `wanted_3`, ... that is not taken; then taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def _base(reducer: Reducer) -> str | Refusal:
    """How the language is spelled at the allocation: the `T` of `T.alloc_reducer`."""
    alloc = reducer.timeline.allocs[0]
    call = _call(reducer, alloc)
    if isinstance(call.func, ast.Attribute):
        return ast.unparse(call.func.value)
    return Refusal(
        "RM006",
        alloc,
        f"`{reducer.timeline.name}` is allocated by a bare `{ast.unparse(call.func)}`, "
        "so there is no name to reach the other operations by",
        "import the language as a whole: `import tilelang.language as T`",
    )


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
                yield CloseEpoch(_statement(reducer, event), names.result)
        elif isinstance(event, Load | Store) and closed and in_place:
            node = reducer.sites[event.ident].node
            yield Rename(Key(node.lineno, node.col_offset), names.result)


def _alloc(
    reducer: Reducer, event: Alloc, dialect: Dialect, names: _Names, in_place: bool
) -> Iterator[Action]:
    implicit = not reducer.timeline.inits and dialect is Dialect.SHIPPED
    if in_place or implicit or event.replication is not None:
        yield RewriteAlloc(
            _statement(reducer, event),
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
    call = _call(reducer, event)
    if position < len(call.args):
        return ast.unparse(call.args[position])
    name = ("shape", "dtype")[position]
    return next(ast.unparse(key.value) for key in call.keywords if key.arg == name)


def _init(reducer: Reducer, event: Init, dialect: Dialect, names: _Names) -> Iterator[Action]:
    statement = _statement(reducer, event)
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
    """Whether the epoch opens exactly when the reducer is allocated."""
    timeline = reducer.timeline
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
    value = argument(_call(reducer, event), 1, "value")
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
    statement = _statement(reducer, event)
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


# Finalizes under a compile-time flag: with the flag off v2 has an epoch that never closes.


def _moves(reducer: Reducer) -> list[Action] | Refusal:
    """The moves that bring init and finalize under the same compile-time conditions."""
    timeline = reducer.timeline
    moves: list[Action] = []
    for event in timeline.finalizes:
        flags = _extra_flags(timeline.inits, event)
        if not flags or _covered(timeline.finalizes, event, flags):
            continue
        if len(timeline.finalizes) > 1:
            return _refuse_move(event, flags[0], "there is more than one finalize")
        move = _move(reducer, event, flags)
        if isinstance(move, Refusal):
            return move
        moves += move
    return moves


def _extra_flags(inits: tuple[Init, ...], event: Finalize) -> list[Branch]:
    """The compile-time conditions that a finalize is under and some init is not."""
    return [
        branch
        for branch in event.branches
        if branch.condition is Condition.COMPILE_TIME and not _in_all(branch, inits)
    ]


def _covered(finalizes: tuple[Finalize, ...], event: Finalize, flags: list[Branch]) -> bool:
    """Whether the other arm of the one flag finalizes as well."""
    return len(flags) == 1 and any(
        branch.ident == flags[0].ident and branch.arm != flags[0].arm
        for other in finalizes
        for branch in other.branches
    )


def _move(reducer: Reducer, event: Finalize, flags: list[Branch]) -> list[Action] | Refusal:
    timeline = reducer.timeline
    extra = [frame for frame in event.context if not _in_all(frame, timeline.inits)]
    if extra != list(flags):
        return _refuse_move(event, flags[0], "another condition or loop stands between them")
    first = flags[0]
    obstacle = _guard_obstacle(reducer, flags)
    if obstacle is None:
        opening = [*timeline.allocs, *timeline.inits]
        return [Guard(_statement(reducer, moved), first.text) for moved in opening]
    if all(update.span.line < first.span.line for update in timeline.updates):
        return [Hoist(_statement(reducer, event), Key(first.span.line, first.span.column))]
    return _refuse_move(event, first, obstacle)


def _guard_obstacle(reducer: Reducer, flags: list[Branch]) -> str | None:
    """Why the allocation and the init cannot go under the flag; None where they can."""
    first = flags[0]
    if len(flags) > 1 or first.arm != 0:
        return "the flag is nested or negated"
    if not all(
        any(_alike(first, branch) for branch in update.branches)
        for update in reducer.timeline.updates
    ):
        return "some updates are under the flag and some are not"
    if first.text.startswith("match "):
        return "a `case` cannot be asked again elsewhere"
    if all(_evaluable(reducer, first, alloc) for alloc in reducer.timeline.allocs):
        return None
    return "the flag is bound inside the kernel"


def _alike(left: Branch, right: Branch) -> bool:
    return (left.ident, left.arm) == (right.ident, right.arm)


def _in_all(frame: Frame, events: Sequence[Event]) -> bool:
    """Whether every event is inside `frame`, or inside a conditional that is decided alike."""
    if isinstance(frame, Branch):
        return all(any(_alike(frame, branch) for branch in event.branches) for event in events)
    return all(frame in event.context for event in events)


def _alloc_moves(reducer: Reducer) -> list[Action] | Refusal:
    """The move of an allocation under the compile-time conditions that its whole epoch is under.

    With a flag off v2 has an allocation that is never opened.
    """
    timeline = reducer.timeline
    moved: list[Action] = []
    for alloc in timeline.allocs:
        flags = [
            branch
            for branch in (timeline.inits[0].branches if timeline.inits else ())
            if branch.condition is Condition.COMPILE_TIME
            and _in_all(branch, timeline.inits)
            and not _in_all(branch, (alloc,))
        ]
        hidden = next((flag for flag in flags if not _evaluable(reducer, flag, alloc)), None)
        if hidden is not None:
            return Refusal(
                "RM206",
                alloc,
                f"reducer `{timeline.name}` is opened only under {_written(hidden)}, which cannot "
                "be asked where it is allocated",
                "allocate the reducer where its epoch is",
            )
        if flags:
            moved.append(Guard(_statement(reducer, alloc), _conjunction(flags)))
    return moved


def _conjunction(flags: Sequence[Branch]) -> str:
    """The condition under which all of `flags` are taken."""
    if len(flags) == 1 and flags[0].arm == 0:
        return flags[0].text
    return " and ".join(f"not ({flag.text})" if flag.arm else f"({flag.text})" for flag in flags)


def _evaluable(reducer: Reducer, flag: Branch, alloc: Alloc) -> bool:
    """Whether the flag can be read at `alloc`, and is what it is further down.

    A local of the kernel can where it is bound once, above.
    """
    try:
        names = names_in(ast.parse(flag.text, mode="eval"))
    except SyntaxError:
        return False  # a `case`
    scope = reducer.scope
    outside = _parameters(reducer)
    return all(
        name not in scope.bindings
        or name in outside
        or (name in scope.single and scope.single[name].lineno < alloc.span.line)
        for name in names
    )


def _parameters(reducer: Reducer) -> set[str]:
    node = reducer.scope.node
    if isinstance(node, ast.Module):
        return set()
    return {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}


def _refuse_move(event: Finalize, flag: Branch, why: str) -> Refusal:
    return Refusal(
        "RM221",
        event,
        f"the finalize is under {_written(flag)} and the init is not, and {why}",
        "otherwise the epoch would never close: put the allocation, the init, the updates and "
        f"the finalize under one {_written(flag)}, or finalize in front of it",
    )


def _written(flag: Branch) -> str:
    """The condition as the source has it."""
    return f"`{flag.text}`" if flag.text.startswith("match ") else f"`if {flag.text}`"


def _call(reducer: Reducer, event: Event) -> ast.Call:
    node = reducer.sites[event.ident].node
    assert isinstance(node, ast.Call)
    return node


def _statement(reducer: Reducer, event: Event) -> Key:
    statement = reducer.sites[event.ident].statement
    return Key(statement.lineno, statement.col_offset)
