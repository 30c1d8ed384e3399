"""Plans that change a macro: it has one text for all the reducers that are passed to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from reducer_migrate.frontend import Reducer
from reducer_migrate.frontend.macros import Passage
from reducer_migrate.rewrite.actions import (
    Action,
    ConvertUpdate,
    Guard,
    Hoist,
    Key,
    OpenEpoch,
    Plan,
    Refusal,
    Rename,
    RewriteUpdate,
)
from reducer_rules import Fix
from reducer_rules.timeline import Event

_CODE = "RM218"
_HELP = "rewrite the macro by hand together with all its calls, or keep the epoch in one function"
Planned = Plan | Refusal | None


def settle(
    reducers: Sequence[Reducer], planned: Sequence[Planned], tree: ast.Module
) -> list[Planned]:
    """The same plans, those that change one macro joined: they are made together or not at all.

    A joined plan stands for every reducer in it. One that a macro does not allow is refused.
    """
    found = list(planned)
    if not any(reducer.passed for reducer in reducers):
        return found
    for place, (reducer, plan) in enumerate(zip(reducers, planned, strict=True)):
        if isinstance(plan, Plan) and reducer.passed:
            found[place] = _refused(reducer, plan, reducers, tree) or plan
    changed = {
        key
        for reducer, plan in zip(reducers, planned, strict=True)
        if isinstance(plan, Plan)
        for key in _changes(reducer, plan)
    }
    for group in _groups(reducers, changed):
        _join(group, reducers, found)
    return found


def _groups(reducers: Sequence[Reducer], changed: set[Key]) -> Iterator[list[int]]:
    """The places of reducers that a changed statement of a macro is about, even by way of others.

    `changed` are those statements.
    """
    groups: list[tuple[set[Key], list[int]]] = []
    for place, reducer in enumerate(reducers):
        keys, members = set(_inside(reducer)) & changed, [place]
        if keys:
            meeting = [group for group in groups if group[0] & keys]
            for group in meeting:
                groups.remove(group)
                keys |= group[0]
                members += group[1]
            groups.append((keys, sorted(members)))
    yield from (members for _, members in groups)


def _inside(reducer: Reducer) -> dict[Key, Event]:
    """What happens to a reducer in macros, by the statement, or the name, that it happens at."""
    found: dict[Key, Event] = {}
    for event in reducer.timeline.events:
        site = reducer.sites[event.ident]
        if site.passage is not None:
            found[Key.of(site.statement)] = found[Key.of(site.node)] = event
    return found


def _key(action: Action) -> Key:
    return action.name if isinstance(action, Rename) else action.statement


def _changes(reducer: Reducer, plan: Plan) -> dict[Key, Action]:
    """The actions of a plan on macros."""
    inside = _inside(reducer)
    return {_key(action): action for action in plan.actions if _key(action) in inside}


def _join(group: list[int], reducers: Sequence[Reducer], found: list[Planned]) -> None:
    plans = [found[place] for place in group]
    if len(group) == 1 or not any(isinstance(plan, Plan) for plan in plans):
        return
    clash = _clash(group, reducers, found)
    for place in group:
        plan = found[place]
        if isinstance(plan, Plan) and clash is not None:
            found[place] = _refusal(reducers[place], clash)
    made = [plan for plan in plans if isinstance(plan, Plan)]
    if clash is None:
        joined = _joined(made)
        for place in group:
            found[place] = joined


def _joined(plans: list[Plan]) -> Plan:
    actions = dict.fromkeys(action for plan in plans for action in plan.actions)
    fix = Fix.UNSAFE if any(plan.fix is Fix.UNSAFE for plan in plans) else Fix.SAFE
    imports = next((plan.imports for plan in plans if plan.imports), None)
    return Plan(plans[0].reducer, tuple(actions), fix, imports)


def _clash(group: list[int], reducers: Sequence[Reducer], found: list[Planned]) -> str | None:
    """Why the reducers of a group cannot be rewritten together."""
    known: dict[Key, tuple[Action | None, Reducer]] = {}
    for place in group:
        plan, reducer = found[place], reducers[place]
        if not isinstance(plan, Plan):
            return f"{_call(reducer)} passes it `{reducer.timeline.name}`, which is not rewritten"
        changes = _changes(reducer, plan)
        for key in _inside(reducer):
            action = changes.get(key)
            other, first = known.setdefault(key, (action, reducer))
            if other != action:
                return (
                    f"it would have to differ for `{first.timeline.name}` ({_call(first)}) and "
                    f"`{reducer.timeline.name}` ({_call(reducer)})"
                )
    return None


def _call(reducer: Reducer) -> str:
    lines = dict.fromkeys(_outermost(each.passage).call.lineno for each in reducer.passed)
    return f"line {next(iter(lines))}"


def _outermost(passage: Passage) -> Passage:
    return list(passage.chain)[-1]


def _refused(
    reducer: Reducer, plan: Plan, reducers: Sequence[Reducer], tree: ast.Module
) -> Refusal | None:
    """Why a macro cannot be changed as a plan asks, whatever else is passed to it."""
    inside, changes = _inside(reducer), _changes(reducer, plan)
    if changes and any(isinstance(action, Guard | Hoist) for action in plan.actions):
        return _refusal(reducer, "its epoch would have to move under other conditions")
    for key, action in changes.items():
        event = inside[key]
        passage = reducer.sites[event.ident].passage
        assert passage is not None
        why = (
            _not_here(action, passage)
            or _unreached(action, reducer, passage)
            or _other_call(reducer, passage, reducers, tree)
        )
        if why is not None:
            return _refusal(reducer, why, event)
    return None


def _not_here(action: Action, passage: Passage) -> str | None:
    if not passage.macro.own:
        return "it is in another module, which is not rewritten for this one"
    if isinstance(action, OpenEpoch | RewriteUpdate | ConvertUpdate):
        return None
    return "the result of the reducer has no name there, and in v2 it is another buffer"


def _unreached(action: Action, reducer: Reducer, passage: Passage) -> str | None:
    """A name that the rewrite would write and that means something else, or nothing, in there."""
    if not isinstance(action, OpenEpoch | RewriteUpdate):
        return None
    texts = [action.base, action.cast or ""]
    names = [
        node.id
        for text in filter(None, texts)
        for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Name)
    ]
    for name in names:
        if passage.macro.scope.lookup(name) is not reducer.scope.lookup(name):
            return f"`{name}` is not there what it is where the reducer is allocated"
    return None


def _other_call(
    reducer: Reducer, passage: Passage, reducers: Sequence[Reducer], tree: ast.Module
) -> str | None:
    """A use of a macro, or of one around it, that passes it anything but a known reducer."""
    for each in passage.chain:
        names = {passed.name for passed in reducer.passed if passed.passage is each}
        known = {
            id(passed.passage.call.func)
            for other in reducers
            for passed in other.passed
            if passed.passage.macro.node is each.macro.node and passed.name in names
        }
        name = each.macro.node.name
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == name and id(node) not in known:
                return f"line {node.lineno} uses `{name}` for something else"
    return None


def _refusal(reducer: Reducer, why: str, event: Event | None = None) -> Refusal:
    inside = _inside(reducer)
    at = event or next(iter(inside.values()))
    passage = reducer.sites[at.ident].passage
    assert passage is not None
    name = passage.macro.node.name
    message = f"macro `{name}` cannot be rewritten for reducer `{reducer.timeline.name}`: {why}"
    return Refusal(_CODE, at, message, _HELP)
