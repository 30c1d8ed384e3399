"""Where the language's allocation of reducers goes out of sight: said, since nothing else would.

A reducer is followed from its allocation on. What is left to find is an allocation that no
function makes by name (a value that is stored or passed on, a lambda, a class body), and an
operation on something that a call of unknown make returns.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from reducer_migrate.frontend.members import (
    DISTINCTIVE,
    Alias,
    Members,
    assigned,
    is_own,
    member_of,
    names_language,
    unparsed,
)
from reducer_migrate.frontend.recorder import Reducer
from reducer_migrate.frontend.scopes import Scope, make_scope
from reducer_migrate.frontend.siblings import sibling
from reducer_migrate.frontend.syntax import FunctionNode, argument, called
from reducer_migrate.source import Source

_ALLOCATES = "alloc_reducer"
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted(DISTINCTIVE))})\b")
#: Functions that look at a function and do not call it.
_LOOKS = frozenset(
    {"callable", "dir", "doc", "getdoc", "getsource", "hasattr", "help", "id", "isinstance"}
    | {"issubclass", "print", "repr", "signature", "str", "type", "wraps"}
)


_CALL_HERE = "call it here, by its own name or one that is bound to it here"
_EXPORT = "let the others import it by its own name, which is known in every file"
_WHOLE = "import the language as a whole: `import tilelang.language as T`"
_BIND = "allocate it in the function that has the epoch, and bind it to a name there"


class Unfollowed(NamedTuple):
    """A place, the statement it is part of, what is there, and the way out."""

    node: ast.expr | ast.alias
    statement: ast.stmt
    message: str
    help: str


def unfollowed(
    source: Source, module: Scope, reducers: Sequence[Reducer], members: Members
) -> tuple[Unfollowed, ...]:
    """Everything of that kind in a module, in the order of the text."""
    calls = [
        site.node
        for reducer in reducers
        for site in reducer.sites.values()
        if isinstance(site.node, ast.Call)
    ]
    known = {call.func.end_lineno for call in calls}
    starts = source.line_starts
    named = {bisect_right(starts, each.start()) for each in _NAMED.finditer(source.text)}
    lines = (named | members.lines) - known
    if not lines:
        return ()
    sweep = _Sweep({id(call) for call in calls}, members, lines)
    sweep.block(module.node.body, module)
    return tuple(sorted(sweep.found, key=lambda each: (each.node.lineno, each.node.col_offset)))


class _Sweep:
    """Goes over the statements at some lines; `known` are the calls in timelines, by `id`."""

    def __init__(self, known: set[int], members: Members, lines: set[int]) -> None:
        self.found: list[Unfollowed] = []
        self._known = known
        self._lines = sorted(lines)
        self._aliases = members.aliases
        self._in_class = False

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        if not self._is_at_a_line(node):
            return
        if isinstance(node, FunctionNode):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            outside, self._in_class = self._in_class, True
            self._below(node, node, scope)
            self._in_class = outside
        elif isinstance(node, ast.ImportFrom):
            self._import(node, scope)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            self._assign(node, scope)
        else:
            self._below(node, node, scope)

    def _is_at_a_line(self, node: ast.stmt) -> bool:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        place = bisect_left(self._lines, first)
        return place < len(self._lines) and self._lines[place] <= (node.end_lineno or first)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        for part in [*node.decorator_list, node.args]:
            self._below(part, node, scope)
        outside, self._in_class = self._in_class, False
        self.block(node.body, make_scope(node, scope))
        self._in_class = outside

    def _import(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if alias.name != _ALLOCATES:
                continue
            name = alias.asname or alias.name
            module = "." * node.level + (node.module or "")
            if not names_language(module) and sibling(scope.module.path, module) is None:
                message = f"`{_ALLOCATES}` is imported from `{module}`, which is not found"
                self._say(alias, node, message, _WHOLE)
            elif name != _ALLOCATES and not self._is_called(scope, name):
                self._uncalled(alias, node, name, "imported as")

    def _assign(self, node: ast.Assign | ast.AnnAssign, scope: Scope) -> None:
        pairs = [] if self._in_class else list(assigned(node))
        names = [
            target
            for target, value in pairs
            if isinstance(target, ast.Name) and self._is_allocation(value, scope)
        ]
        if not names:
            self._below(node, node, scope)
        for name in names:
            if name.id != _ALLOCATES and not self._is_called(scope, name.id):
                self._uncalled(name, node, name.id, "bound to")

    def _is_called(self, scope: Scope, name: str) -> bool:
        return not self._in_class and Alias(scope.node, name) in self._aliases

    def _below(self, node: ast.AST, statement: ast.stmt, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statement(child, scope)
            elif isinstance(child, ast.Call):
                self._call(child, statement, scope)
            elif not isinstance(child, ast.expr) or not self._is_allocation(child, scope):
                self._below(child, statement, scope)
            elif not isinstance(node, ast.Compare):
                self._value(child, statement)

    def _call(self, call: ast.Call, statement: ast.stmt, scope: Scope) -> None:
        name = called(call)
        if name == "getattr" and _text(argument(call, 1, "name")) == _ALLOCATES:
            self._value(call, statement)
        elif name in DISTINCTIVE and name != _ALLOCATES:
            self._operation(call, statement, scope)
        if not self._is_allocation(call.func, scope):
            self._below(ast.Expr(call.func), statement, scope)
        elif id(call) not in self._known:
            message = "a reducer is allocated where no epoch can be: it is not followed"
            self._say(call, statement, message, _BIND)
        if name not in _LOOKS:
            for part in [*call.args, *(keyword.value for keyword in call.keywords)]:
                self._below(ast.Expr(part), statement, scope)

    def _operation(self, call: ast.Call, statement: ast.stmt, scope: Scope) -> None:
        """An operation on no known reducer: one that is bound here is of unknown make."""
        target = argument(call, 0, "reducer", "target")
        if isinstance(target, ast.Subscript):
            target = target.value
        if id(call) in self._known or not isinstance(target, ast.Name):
            return
        values = scope.values.get(target.id, [])
        if values and all(isinstance(value, ast.Call) for value in values):
            made = unparsed(values[0].func) if isinstance(values[0], ast.Call) else ""
            if called(values[0]) != _ALLOCATES:
                message = f"`{target.id}` comes from `{made}(...)`, which is not followed"
                self._say(target, statement, message, _BIND)

    def _is_allocation(self, node: ast.expr, scope: Scope) -> bool:
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            return False
        if isinstance(node, ast.Attribute):
            return node.attr == _ALLOCATES and not is_own(node.value)
        return isinstance(node, ast.Name) and member_of(node, scope) == _ALLOCATES

    def _value(self, node: ast.expr, statement: ast.stmt) -> None:
        message = f"`{_ALLOCATES}` is used as a value: what it allocates is not followed"
        self._say(node, statement, message, _CALL_HERE)

    def _uncalled(
        self, node: ast.expr | ast.alias, statement: ast.stmt, name: str, how: str
    ) -> None:
        message = (
            f"`{_ALLOCATES}` is {how} `{name}`, and nothing calls that here: a file that "
            "names no other operation on reducers is not looked at"
        )
        self._say(node, statement, message, _EXPORT)

    def _say(
        self, node: ast.expr | ast.alias, statement: ast.stmt, message: str, help: str
    ) -> None:
        self.found.append(Unfollowed(node, statement, message, help))


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
