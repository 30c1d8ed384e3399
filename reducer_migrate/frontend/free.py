"""Which names a nested scope takes from outside, and which of its parts lie outside it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from reducer_migrate.frontend.syntax import (
    FunctionNode,
    ScopeNode,
    binds,
    bound_names,
    declared_outside,
    same_scope,
)

ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def outer_parts(node: ScopeNode) -> list[ast.expr]:
    """What of a function, class or lambda is evaluated around it: decorators, defaults, bases."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(key.value for key in node.keywords)]
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    if isinstance(node, ast.Lambda):
        return defaults
    annotations = [arg.annotation for arg in ast.walk(node.args) if isinstance(arg, ast.arg)]
    return [*node.decorator_list, *defaults, *filter(None, [*annotations, node.returns])]


def comprehension_parts(node: ComprehensionNode) -> list[ast.expr]:
    """The expressions of a comprehension; the first is evaluated outside its scope."""
    parts: list[ast.expr] = []
    for position, generator in enumerate(node.generators):
        head = [generator.iter, generator.target]
        parts += [*(head if position == 0 else head[::-1]), *generator.ifs]
    return [*parts, *([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])]


def pattern_values(pattern: ast.pattern) -> Iterator[ast.expr]:
    """The expressions that a `case` pattern compares with."""
    for child in ast.walk(pattern):
        if isinstance(child, ast.MatchValue):
            yield child.value
        elif isinstance(child, ast.MatchMapping):
            yield from child.keys
        elif isinstance(child, ast.MatchClass):
            yield child.cls


def always_matches(case: ast.match_case) -> bool:
    """Whether a `case` takes everything that the ones before it left."""
    return case.guard is None and _irrefutable(case.pattern)


def _irrefutable(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return any(map(_irrefutable, pattern.patterns))
    return isinstance(pattern, ast.MatchAs) and (
        pattern.pattern is None or _irrefutable(pattern.pattern)
    )


def free_names(node: ast.AST) -> Iterator[ast.Name]:
    """The names in the body of a nested scope that stand for something outside it.

    A class does not hide its names from the functions in it, and reads before it binds them, so
    whatever is read in a class body counts.
    """
    if isinstance(node, FunctionNode | ast.Lambda):
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
        nodes = same_scope(body)
        own = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        own |= set(_bound(nodes)) - declared_outside(nodes).keys()
    elif isinstance(node, ast.ClassDef):
        body, own = [*node.body], set()
    else:
        body, own = [node], set()
    in_class = isinstance(node, ast.ClassDef)
    outside = declared_outside(same_scope(body)) if in_class else {}
    for child in body:
        for name in _uses(child):
            binds = in_class and isinstance(name.ctx, ast.Store) and name.id not in outside
            if name.id not in own and not binds:
                yield name


def _uses(node: ast.AST) -> Iterator[ast.Name]:
    """Every name below `node` that it or a scope nested in it reads or binds from around it."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ScopeNode):
        for part in outer_parts(node):
            yield from _uses(part)
        yield from free_names(node)
    elif isinstance(node, Comprehension):
        first, *rest = comprehension_parts(node)
        yield from _uses(first)
        own = {name for part in node.generators for name in bound_names(part.target)}
        for part in rest:
            yield from (name for name in _uses(part) if name.id not in own)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _uses(child)


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that a function body binds, nested scopes apart."""
    hidden = {
        id(name)
        for node in nodes
        if isinstance(node, Comprehension)
        for generator in node.generators
        for name in ast.walk(generator.target)
    }
    for node in nodes:
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.pattern):
            yield from bound_names(node)
        else:
            yield from binds(node)
