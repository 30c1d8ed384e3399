"""From Python source to epoch timelines, with the standard library's `ast` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from reducer_migrate.frontend.scopes import Scope, allocates, body_nodes, make_scope
from reducer_migrate.frontend.syntax import FunctionNode
from reducer_migrate.frontend.walker import Reducer, Site, walk
from reducer_migrate.source import Source

__all__ = ["Reducer", "Site", "Unit", "build", "imports_compat"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One parsed source: its tree and its reducers, in order of their allocation."""

    tree: ast.Module
    reducers: tuple[Reducer, ...]
    imports_compat: bool


def build(source: Source, tree: ast.Module) -> Unit:
    """Build the timelines of every reducer in `source`."""
    reducers: list[Reducer] = []
    for scope in _scopes(tree, make_scope(tree, None)):
        if any(allocates(node, scope) for node in body_nodes(scope.node)):
            reducers += walk(scope, source)
    return Unit(tree, tuple(reducers), imports_compat(tree))


def _scopes(node: ast.AST, scope: Scope) -> Iterator[Scope]:
    if isinstance(node, ast.Module):
        yield scope
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            inner = make_scope(child, scope)
            yield inner
            yield from _scopes(child, inner)
        else:
            yield from _scopes(child, scope)


def imports_compat(tree: ast.Module) -> bool:
    """Whether the module imports the runtime, anywhere."""
    modules: list[str | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module)
    return any(module and module.split(".")[0] == "reducer_compat" for module in modules)
