"""Compile-time flags: epochs that are opened under one condition and closed under another.

With a finalize under a flag that is off, v2 has an epoch that never closes; with an init under
one, an allocation that is never opened.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from reducer_migrate.frontend import Reducer
from reducer_migrate.frontend.syntax import names_in
from reducer_migrate.rewrite.actions import Action, Guard, Hoist, Key, Refusal
from reducer_rules.timeline import Alloc, Branch, Condition, Event, Finalize, Frame, Init


def moves_of(reducer: Reducer) -> list[Action] | Refusal:
    """The moves after which an epoch is opened and closed under the same flags, as v2 asks."""
    return _closing_moves(reducer) or _alloc_moves(reducer)


def _closing_moves(reducer: Reducer) -> list[Action] | Refusal:
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
        return [Guard(Key.of(reducer.statement(moved)), first.text) for moved in opening]
    if all(update.span.line < first.span.line for update in timeline.updates):
        return [Hoist(Key.of(reducer.statement(event)), Key(first.span.line, first.span.column))]
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
            moved.append(Guard(Key.of(reducer.statement(alloc)), _conjunction(flags)))
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
