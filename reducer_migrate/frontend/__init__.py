"""From Python source to epoch timelines, with the standard library's `ast` alone."""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from reducer_migrate.frontend.members import Members, canonicalize, has_other_names
from reducer_migrate.frontend.recorder import Reducer, Site
from reducer_migrate.frontend.scopes import Scope, allocates, make_scope
from reducer_migrate.frontend.syntax import FunctionNode
from reducer_migrate.frontend.unfollowed import Unfollowed, unfollowed
from reducer_migrate.frontend.walker import walk
from reducer_migrate.source import Source

__all__ = ["Reducer", "Site", "Unfollowed", "Unit", "build", "imports_compat"]


class Unit(NamedTuple):
    """One parsed source: its tree and its reducers, in order of their allocation.

    Calls of the language by names of their own have been put in the usual shape in the tree.
    """

    tree: ast.Module
    reducers: tuple[Reducer, ...]
    unfollowed: tuple[Unfollowed, ...]
    imports_compat: bool


def build(source: Source, tree: ast.Module, path: str = "") -> Unit:
    """Build the timelines of every reducer in `source`.

    `path` is that of its file, where names may be looked up in other modules of its project.
    """
    members = canonicalize(tree, path) if has_other_names(source.text) else Members()
    lines = sorted({*_lines_naming(source, "alloc_reducer"), *members.lines})
    module = make_scope(tree, None, path)
    reducers: list[Reducer] = []
    if lines:
        for scope in _scopes(tree, module, lines):
            if any(map(allocates, scope.nodes)):
                reducers += walk(scope, source)
    missed = unfollowed(source, module, reducers, members)
    return Unit(tree, tuple(reducers), missed, imports_compat(source, tree))


def _lines_naming(source: Source, name: str) -> list[int]:
    """The lines that hold `name`, counted from 1."""
    starts = source.line_starts
    return [bisect_right(starts, match.start()) for match in re.finditer(name, source.text)]


def _scopes(node: ast.AST, scope: Scope, lines: list[int]) -> Iterator[Scope]:
    """The scopes around the given lines: the rest of the tree, mostly all of it, is not visited."""
    if isinstance(node, ast.Module):
        yield scope
    for child in _blocks(node):
        inside = [line for line in lines if _first(child) <= line <= _last(child)]
        if not inside:
            continue
        if isinstance(child, FunctionNode):
            inner = make_scope(child, scope)
            yield inner
            yield from _scopes(child, inner, inside)
        else:
            yield from _scopes(child, scope, inside)


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases directly below `node`, in the order of the text."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, name, None)
        if isinstance(below, list):
            yield from below


def _first(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _last(node: ast.AST) -> int:
    return getattr(node, "end_lineno", None) or sys.maxsize


def imports_compat(source: Source, tree: ast.Module) -> bool:
    """Whether the module imports the runtime, anywhere."""
    if "reducer_compat" not in source.text:
        return False
    modules: list[str | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module)
    return any(module and module.split(".")[0] == "reducer_compat" for module in modules)
