"""What the rules say that v1 computes, for a kernel with its arguments filled in."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from reducer_migrate import frontend
from reducer_migrate.source import Source
from reducer_migrate.verify.kernels import FunctionNode, Kernel, kernels_of
from reducer_migrate.verify.literals import DTYPE
from reducer_rules import Release, Target, Timeline
from reducer_rules.catalogue import rules
from reducer_rules.counting import factors

#: Found on Hopper only.
_HOPPER_ONLY = frozenset({"RM303"})
_REPLICATED = "RM301"
UNKNOWN = "?"


def predict(
    tree: ast.Module, kernel: Kernel, arguments: Mapping[str, Any], release: Release, arch: str
) -> str:
    """The predicted factor of v1 on one release, as `16x`, or the codes of what else goes wrong.

    `1x` where nothing is known to go wrong, `?` where the model cannot say.
    """
    timelines = _timelines(tree, kernel, arguments)
    codes = sorted({code for t in timelines for code in _codes(t, release, arch)})
    others = [code for code in codes if code != _REPLICATED]
    if others:
        return ", ".join(others)
    affected = any(
        release in getattr(rule, "affected", ()) for rule in rules() if rule.code == _REPLICATED
    )
    found = {factor for t in timelines for factor in factors(t)} if affected else {1}
    known = sorted(factor for factor in found if factor is not None)
    if len(known) < len(found) or not known:
        return UNKNOWN
    return f"{known[0]}x" if len(known) == 1 else f"{known[0]}x to {known[-1]}x"


def _codes(timeline: Timeline, release: Release, arch: str) -> set[str]:
    found = {
        finding.code
        for rule in rules()
        if rule.code.startswith("RM3")
        for finding in rule.check(timeline, Target(release))
    }
    return found if arch.startswith("sm_90") else found - _HOPPER_ONLY


def _timelines(
    tree: ast.Module, kernel: Kernel, arguments: Mapping[str, Any]
) -> tuple[Timeline, ...]:
    source = Source.of(ast.unparse(specialized(tree, kernel.name, arguments)))
    parsed = ast.parse(source.text)
    places = [each for each in kernels_of(source, parsed) if each.name == kernel.name]
    return tuple(
        reducer.timeline
        for reducer in frontend.build(source, parsed).reducers
        if any(place.holds(reducer.timeline.allocs[0].span.line) for place in places)
    )


def specialized(tree: ast.Module, name: str, arguments: Mapping[str, Any]) -> ast.Module:
    """The module with the arguments of one of its functions bound to values, as constants."""
    made = copy.deepcopy(tree)
    for node in ast.walk(made):
        if isinstance(node, FunctionNode) and node.name == name:
            _specialize(node, arguments)
    return made


def _specialize(node: FunctionNode, arguments: Mapping[str, Any]) -> None:
    spec, given = node.args, {k: v for k, v in arguments.items() if _plain(v)}
    positional = [*spec.posonlyargs, *spec.args]
    absent: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults))
    pairs = list(zip(positional, [*absent, *spec.defaults], strict=True))
    kept = [(argument, default) for argument, default in pairs if argument.arg not in given]
    spec.posonlyargs, spec.args = [], [argument for argument, _ in kept]
    spec.defaults = [default for _, default in kept if default is not None]
    named = list(zip(spec.kwonlyargs, spec.kw_defaults, strict=True))
    left = [(argument, default) for argument, default in named if argument.arg not in given]
    spec.kwonlyargs, spec.kw_defaults = [a for a, _ in left], [default for _, default in left]
    body = [each for each in node.body if not _takes_constants(each)]
    node.body = [*(_assignment(name, value) for name, value in given.items()), *body]
    ast.fix_missing_locations(node)


def _plain(value: Any) -> bool:
    """Whether a value has a literal: the language module has none."""
    if isinstance(value, list):
        return all(map(_plain, value))
    return isinstance(value, (int, float, str)) or (isinstance(value, dict) and DTYPE in value)


def _assignment(name: str, value: Any) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], _literal(value))


def _literal(value: Any) -> ast.expr:
    if isinstance(value, list):
        return ast.Tuple([_literal(item) for item in value], ast.Load())
    return ast.Constant(value[DTYPE] if isinstance(value, dict) else value)


def _takes_constants(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "const"
