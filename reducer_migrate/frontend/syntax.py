"""Small questions about `ast` nodes that the rest of the front end asks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from reducer_rules.timeline import Span

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = FunctionNode | ast.Lambda | ast.ClassDef
_SCOPES: frozenset[type[ast.AST]] = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef}
)


def called(node: ast.AST) -> str | None:
    """The last name of a call's function: `fill` for `T.fill(...)` and for `fill(...)`."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else None


def span_of(node: ast.stmt | ast.expr) -> Span:
    """The source range of a node, decorators left out."""
    return Span(
        node.lineno,
        node.col_offset,
        node.end_lineno or node.lineno,
        node.end_col_offset or node.col_offset,
    )


def same(left: ast.AST, right: ast.AST) -> bool:
    """Whether two expressions are spelled alike, whatever their load or store context."""
    return ast.dump(left).replace("Store()", "Load()") == ast.dump(right).replace(
        "Store()", "Load()"
    )


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument given by position or by one of `names`; None where absent or starred."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if any(isinstance(value, ast.Starred) for value in call.args[: position + 1]):
        return None
    return call.args[position] if position < len(call.args) else None


def index_parts(subscript: ast.Subscript) -> list[ast.expr]:
    """The index expressions of a subscript, a tuple taken apart."""
    index = subscript.slice
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


#: The nodes with nothing below them but a context, which are half of all.
_LEAVES = frozenset({ast.Name, ast.Constant, ast.alias, ast.Pass})
#: What may hold a name, a call or a statement; contexts and operators do not.
_INNER = (ast.expr, ast.stmt, ast.arguments, ast.arg, ast.pattern)


def same_scope(statements: Sequence[ast.AST]) -> list[ast.AST]:
    """Every node of `statements` in the order of the text, nested scopes unopened."""
    return _nodes(statements, _SCOPES)


def all_below(node: ast.AST) -> list[ast.AST]:
    """`node` and every node below it that may hold or be a name, in the order of the text."""
    return _nodes([node], frozenset())


def _nodes(roots: Sequence[ast.AST], unopened: frozenset[type[ast.AST]]) -> list[ast.AST]:
    """Written out rather than built on `ast.walk`, since it visits most of what is visited."""
    found: list[ast.AST] = []
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        found.append(node)
        kind = type(node)
        if kind in _LEAVES or kind in unopened:
            continue
        below: list[ast.AST] = []
        for name in kind._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                below += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, _INNER):
                below.append(value)
        waiting += below[::-1]
    return found


def names_in(node: ast.AST) -> set[str]:
    """Every plain name below `node`."""
    return {child.id for child in all_below(node) if isinstance(child, ast.Name)}


def binds(node: ast.AST) -> Iterator[str]:
    """The names that a definition, an import or an `except` clause binds; none for other nodes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ExceptHandler) and node.name is not None:
        yield node.name


def declared_outside(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """The names that a body declares `global` or `nonlocal`, with the statement that does."""
    return {
        name: ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }


def bound_names(target: ast.AST) -> Iterator[str]:
    """The names that an assignment, loop or `with` target, or a `case` pattern, binds."""
    if isinstance(target, ast.Name):
        if isinstance(target.ctx, ast.Store):
            yield target.id
        return
    for child in ast.walk(target):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.MatchAs | ast.MatchStar) and child.name is not None:
            yield child.name
        elif isinstance(child, ast.MatchMapping) and child.rest is not None:
            yield child.rest


def names_bound(tree: ast.AST) -> set[str]:
    """Every name that a function or module, or what is nested in it, binds."""
    names: set[str] = set()
    for node in all_below(tree):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.pattern):
            names.update(bound_names(node))
        else:
            names.update(binds(node))
    return names


def names_bound_or_used(tree: ast.AST) -> set[str]:
    """Every name in a function or module and what is nested in it: a fresh one meets none."""
    return names_bound(tree) | names_in(tree)
