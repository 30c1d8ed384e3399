"""Macros that reducers are passed to: their statements are traced as the caller's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from reducer_migrate.frontend.facts import Facts
from reducer_migrate.frontend.members import canonicalize, has_other_names
from reducer_migrate.frontend.scopes import Scope, make_scope, parameters
from reducer_migrate.frontend.siblings import sibling, source_of
from reducer_migrate.frontend.syntax import FunctionNode, called
from reducer_migrate.source import Source
from reducer_rules.timeline import Context

#: What opens, updates and closes a reducer.
_EPOCH = frozenset({"clear", "fill", "reducer_init", "reducer_update", "finalize_reducer"})
#: How many macros may pass a reducer on to one another.
_DEPTH = 8


class Macro(NamedTuple):
    """A `@T.macro`; `own` says that it is of the module that is read, and no other one."""

    node: ast.FunctionDef
    scope: Scope
    source: Source
    own: bool


class Passage(NamedTuple):
    """A call that passes reducers to a macro; `outer` is the one that the call itself is part of.

    `arguments` holds what each parameter stands for in this call, defaults included.
    """

    macro: Macro
    call: ast.Call
    statement: ast.stmt
    context: Context
    arguments: dict[str, ast.expr]
    outer: Passage | None = None

    @property
    def chain(self) -> Iterator[Passage]:
        """This passage and those around it, outwards."""
        passage: Passage | None = self
        while passage is not None:
            yield passage
            passage = passage.outer

    @property
    def visible(self) -> Passage:
        """The innermost call around that stands in the module that is read."""
        return next(each for each in self.chain if each.outer is None or each.outer.macro.own)


def passage_of(
    call: ast.Call, statement: ast.stmt, context: Context, facts: Facts, outer: Passage | None
) -> Passage | None:
    """The passage that a call is, or None where it is to no macro that can be followed.

    A macro is followed where its name is bound once, it is decorated by `macro` alone, every
    argument finds its parameter, and it does not call itself.
    """
    macro = _macro(call.func, facts.scope, facts.source, outer is None or outer.macro.own)
    if macro is None:
        return None
    around = [] if outer is None else [each.macro.node for each in outer.chain]
    arguments = _bound(call, macro.node)
    if arguments is None or macro.node in around or len(around) >= _DEPTH:
        return None
    return Passage(macro, call, statement, context, arguments, outer)


def works_on(macro: Macro, name: str) -> bool:
    """Whether a macro does more with the reducer `name` than to read its result."""
    for node in macro.scope.nodes:
        if isinstance(node, ast.Call) and called(node) in _EPOCH:
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            bases = (each.value if isinstance(each, ast.Subscript) else each for each in values)
            if any(isinstance(base, ast.Name) and base.id == name for base in bases):
                return True
    return False


def _macro(func: ast.expr, scope: Scope, source: Source, own: bool) -> Macro | None:
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        return _member(func.value.id, func.attr, scope)
    if not isinstance(func, ast.Name):
        return None
    owner = scope.lookup(func.id)
    if owner is None or owner.bindings[func.id] != 1:
        return None
    imported = owner.imported.get(func.id)
    if imported is not None:
        return _elsewhere(imported.module, imported.member or "", scope)
    return _defined(func.id, owner, source, own)


def _member(name: str, member: str, scope: Scope) -> Macro | None:
    """The macro `member` of a module that is imported as `name`."""
    owner = scope.lookup(name)
    imported = None if owner is None else owner.imported.get(name)
    if imported is None:
        return None
    module = imported.module
    if imported.member is not None:
        module += imported.member if module.endswith(".") else f".{imported.member}"
    return _elsewhere(module, member, scope)


def _elsewhere(module: str, name: str, scope: Scope) -> Macro | None:
    other = sibling(scope.module.path, module)
    source = None if other is None else source_of(other.path)
    if other is None or source is None or other.bindings.get(name) != 1:
        return None
    if has_other_names(source.text):
        assert isinstance(other.node, ast.Module)
        canonicalize(other.node, other.path)
    return _defined(name, other, source, own=False)


def _defined(name: str, owner: Scope, source: Source, own: bool) -> Macro | None:
    for node in owner.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            scope = make_scope(node, owner)
            alone = len(node.decorator_list) == 1 and "macro" in scope.decorators
            return Macro(node, scope, source, own) if alone else None
    return None


def _bound(call: ast.Call, node: FunctionNode) -> dict[str, ast.expr] | None:
    """What each parameter of a function stands for in a call; None where that is not clear."""
    signature = node.args
    names = [parameter.arg for parameter in parameters(node)]
    placed = [parameter.arg for parameter in [*signature.posonlyargs, *signature.args]]
    if signature.vararg or signature.kwarg or len(call.args) > len(placed):
        return None
    if any(isinstance(value, ast.Starred) for value in call.args):
        return None
    found = dict(zip(placed, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in names or keyword.arg in found:
            return None
        found[keyword.arg] = keyword.value
    defaults = dict(zip(placed[::-1], signature.defaults[::-1], strict=False))
    for parameter, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True):
        if default is not None:
            defaults[parameter.arg] = default
    found = {**defaults, **found}
    return found if found.keys() == set(names) else None
