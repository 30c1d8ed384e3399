"""Lexical scopes: which names a function binds, to what, and what encloses it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from reducer_migrate.frontend.syntax import (
    FunctionNode,
    binds,
    bound_names,
    called,
    declared_outside,
    same_scope,
)

_TRACING_DECORATORS = frozenset({"prim_func", "macro"})
_JIT_DECORATORS = frozenset({"jit", "autotune", "lazy_jit"})


class Imported(NamedTuple):
    """What a name is imported as: a member of a module, or (`member` None) a module.

    A relative module keeps its dots.
    """

    module: str
    member: str | None


@dataclass
class Scope:
    """A module or function.

    `values` maps a name to what plain assignments bind it to, `single` one that is bound exactly
    once to the value it gets, `imported` a name to what it is
    imported from; `stars` are the modules whose names are all imported. A module knows the `path`
    of its file, where it has one.
    """

    node: ast.Module | FunctionNode
    parent: Scope | None
    bindings: dict[str, int] = field(default_factory=dict)
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    single: dict[str, ast.expr] = field(default_factory=dict)
    imported: dict[str, Imported] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    path: str = ""

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node in the body, nested scopes unopened."""
        return same_scope(self.node.body)

    @cached_property
    def decorators(self) -> frozenset[str]:
        """The last names of the decorators: `prim_func` for `@T.prim_func`, `jit` for `@jit()`."""
        if isinstance(self.node, ast.Module):
            return frozenset()
        return frozenset(filter(None, map(_last_name, self.node.decorator_list)))

    @cached_property
    def shared(self) -> dict[str, str]:
        """The names that belong to another scope, with the statement that says so."""
        return declared_outside(self.nodes)

    @property
    def is_eager(self) -> bool:
        """Whether the body of a jitted function is itself the kernel."""
        return bool(self.decorators & _JIT_DECORATORS) and self.opens_kernel

    @cached_property
    def opens_kernel(self) -> bool:
        """Whether `with T.Kernel(...)` stands directly in this function."""
        return any(
            isinstance(node, ast.With)
            and any(called(item.context_expr) == "Kernel" for item in node.items)
            for node in self.nodes
        )

    @cached_property
    def is_traced(self) -> bool:
        """Whether TileLang traces the body, so that its statements are device code."""
        return bool(self.decorators & _TRACING_DECORATORS) or self.opens_kernel

    @property
    def module(self) -> Scope:
        """The scope of the module around."""
        return self if self.parent is None else self.parent.module

    def lookup(self, name: str) -> Scope | None:
        """The innermost scope that binds `name`."""
        scope: Scope | None = self
        while scope is not None and name not in scope.bindings:
            scope = scope.parent
        return scope

    def value(self, name: str) -> ast.expr | None:
        """What `name` is bound to, where exactly one plain assignment binds it."""
        scope = self.lookup(name)
        return None if scope is None else scope.single.get(name)


#: The nodes that bind names; most nodes do not, and are told apart by one look at their type.
_BINDING = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor}
    | {ast.comprehension, ast.withitem, ast.match_case, ast.ExceptHandler}
    | {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom}
)


def make_scope(node: ast.Module | FunctionNode, parent: Scope | None, path: str = "") -> Scope:
    """Collect the bindings of one scope; a module may have a path."""
    scope = Scope(node, parent, path=path)
    if not isinstance(node, ast.Module):
        for parameter in parameters(node):
            _bind(scope, parameter.arg)
    for child in scope.nodes:
        if type(child) in _BINDING:
            _bind_node(scope, child)
    scope.single = {k: v[0] for k, v in scope.values.items() if scope.bindings[k] == 1}
    return scope


def parameters(node: FunctionNode) -> list[ast.arg]:
    """Every parameter of a function, starred ones included."""
    arguments = node.args
    starred = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def _bind(scope: Scope, name: str, value: ast.expr | None = None) -> None:
    scope.bindings[name] = scope.bindings.get(name, 0) + 1
    if value is not None:
        scope.values.setdefault(name, []).append(value)


def _bind_node(scope: Scope, node: ast.AST) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            _bind_target(scope, target, node.value)
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        if node.value is not None:
            _bind(scope, node.target.id, node.value)
    elif isinstance(
        node, ast.AugAssign | ast.NamedExpr | ast.For | ast.AsyncFor | ast.comprehension
    ):
        for name in bound_names(node.target):
            _bind(scope, name)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        for name in bound_names(node.optional_vars):
            _bind(scope, name)
    elif isinstance(node, ast.match_case):
        for name in bound_names(node.pattern):
            _bind(scope, name)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        _bind_import(scope, node)
    else:
        for name in binds(node):
            _bind(scope, name)


def _bind_import(scope: Scope, node: ast.Import | ast.ImportFrom) -> None:
    relative = "." * (getattr(node, "level", 0) or 0)
    module = f"{relative}{getattr(node, 'module', None) or ''}"
    for alias in node.names:
        name = (alias.asname or alias.name).split(".")[0]
        if alias.name == "*":
            scope.stars.append(module)
            continue
        _bind(scope, name)
        if isinstance(node, ast.ImportFrom):
            scope.imported[name] = Imported(module, alias.name)
        else:
            scope.imported[name] = Imported(alias.name if alias.asname else name, None)


def _bind_target(scope: Scope, target: ast.expr, value: ast.expr) -> None:
    """Bind an assignment target; `a, b = x, y` binds each name to its own value."""
    if isinstance(target, ast.Name):
        _bind(scope, target.id, value)
    elif (
        isinstance(target, ast.Tuple)
        and isinstance(value, ast.Tuple)
        and len(target.elts) == len(value.elts)
    ):
        for part, part_value in zip(target.elts, value.elts, strict=True):
            _bind_target(scope, part, part_value)
    else:
        for name in bound_names(target):
            _bind(scope, name)


def _last_name(decorator: ast.expr) -> str | None:
    if isinstance(decorator, ast.Call):
        return called(decorator)
    if isinstance(decorator, ast.Attribute):
        return decorator.attr
    return decorator.id if isinstance(decorator, ast.Name) else None


def allocates(node: ast.AST) -> bool:
    """Whether `node` is TileLang's `alloc_reducer`, and no function or method of that name.

    The call's shape decides, since the language arrives under many names and often from a
    re-export. Calls by a bare name are put in that shape by `members`, where they are of the
    language.
    """
    if called(node) != "alloc_reducer" or not isinstance(node, ast.Call):
        return False
    if not isinstance(node.func, ast.Attribute):
        return False
    base = node.func.value
    return not (isinstance(base, ast.Name) and base.id in ("self", "cls"))
