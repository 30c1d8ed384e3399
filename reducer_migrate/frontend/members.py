"""Members of the language that go by names of their own, put in the shape that all else asks for.

`from tilelang.language import alloc_reducer as mk`, `from tilelang.language import *` and
`mk = T.alloc_reducer` all make `mk(...)` an allocation. Such calls and decorators become
`T.alloc_reducer(...)` in the tree, at the same place in the text, so that the rest of the front
end sees calls of one shape. `T` is what the language goes by at that place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reducer_migrate.frontend.free import outer_parts
from reducer_migrate.frontend.scopes import Imported, Scope, make_scope
from reducer_migrate.frontend.siblings import sibling
from reducer_migrate.frontend.syntax import FunctionNode

#: What the language goes by where its members are all imported, and where it cannot be reached.
#: No program has these names.
STARRED, UNREACHABLE = "<all of tilelang>", "<part of tilelang>"

#: Names that are no other library's: whoever imports them from anywhere means the language.
DISTINCTIVE = frozenset({"alloc_reducer", "finalize_reducer", "reducer_init", "reducer_update"})
#: Other members that decide what becomes of a reducer.
_MEMBERS = (
    "Kernel|Parallel|Pipelined|Persistent|serial|unroll|vectorized|clear|fill|copy|max|min|cast|"
    "prim_func|macro|alloc_fragment|alloc_shared|alloc_local|reduce\\w*|ceildiv|infinity"
)
_NAMES = "|".join(sorted(DISTINCTIVE))
#: What a text has that calls the language by other names; most have nothing of it.
_OTHER_NAMES = re.compile(
    rf"\b(?:{_NAMES})[ \t]+as\b"
    rf"|=[^\n(]*\.(?:{_NAMES})\b(?!\s*\()"
    rf"|(?<![.\w])(?<!def )(?:{_NAMES})\s*\("
    r"|\bfrom\s+tilelang\S*\.language\S*\s+import\b"
    rf"|=[^\n(]*\.(?:{_MEMBERS})[ \t]*(?:[,;#\r\n]|\Z)"
)
#: What a text has that uses reducers which other modules allocate for it.
_USES = re.compile(rf"(?:{_NAMES})\s*\(")
_DEPTH = 8


class Alias(NamedTuple):
    """A name that a member is called by, in the function or module that binds it."""

    owner: ast.AST
    name: str


@dataclass
class Members:
    """What was found: the lines of the allocations, and the aliases that something is called by."""

    lines: set[int] = field(default_factory=set)
    aliases: set[Alias] = field(default_factory=set)


def has_other_names(text: str) -> bool:
    """Whether a text may call a member by another name than `T.member`."""
    if "alloc_reducer" in text:
        return _OTHER_NAMES.search(text) is not None
    return _USES.search(text) is not None


def canonicalize(tree: ast.Module, path: str) -> Members:
    """Put the calls of members that go by other names in the usual shape, in `tree` itself.

    `path` is that of the file, whose project may have a name for a member in another module.
    """
    found = Members()
    module = make_scope(tree, None, path)
    _visit(tree.body, module, found)
    return found


def unparsed(node: ast.AST) -> str:
    """`ast.unparse`, with a member that goes by its bare name written so."""
    return ast.unparse(node).replace(f"{STARRED}.", "").replace(f"{UNREACHABLE}.", "")


def _visit(nodes: Iterable[ast.AST], scope: Scope, found: Members) -> None:
    for node in nodes:
        if isinstance(node, FunctionNode):
            node.decorator_list = [_in_shape(each, scope, found) for each in node.decorator_list]
            _visit(outer_parts(node), scope, found)
            _visit(node.body, make_scope(node, scope), found)
        elif isinstance(node, ast.Lambda):
            _visit(outer_parts(node), scope, found)
            own = {arg.arg: 1 for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
            _visit([node.body], Scope(scope.node, scope, own), found)
        else:
            if isinstance(node, ast.Call):
                node.func = _in_shape(node.func, scope, found)
                if isinstance(node.func, ast.Attribute) and node.func.attr == "alloc_reducer":
                    found.lines.add(node.lineno)
            _visit(ast.iter_child_nodes(node), scope, found)


def _in_shape(node: ast.expr, scope: Scope, found: Members) -> ast.expr:
    """`T.member` for the name of a member, anything else as it is."""
    if not isinstance(node, ast.Name):
        return node
    member = member_of(node, scope)
    if member is None:
        return node
    found.aliases.update(_aliases(node, scope))
    base = ast.copy_location(ast.Name(language_at(scope), ast.Load()), node)
    return ast.copy_location(ast.Attribute(base, member, ast.Load()), node)


def member_of(node: ast.expr, scope: Scope, depth: int = _DEPTH) -> str | None:
    """The member of the language that an expression is: `T.fill`, or a name for it."""
    if depth == 0:
        return None
    if isinstance(node, ast.Attribute):
        known = node.attr in DISTINCTIVE or is_language(node.value, scope, depth)
        return node.attr if known and not is_own(node.value) else None
    if not isinstance(node, ast.Name):
        return None
    owner = scope.lookup(node.id)
    if owner is None:
        return _unbound_member(node, scope, depth)
    imported = owner.imported.get(node.id)
    if imported is not None:
        return _imported_member(imported, scope, depth)
    values = [value for value in owner.values.get(node.id, ()) if not _is_fallback(value)]
    members = {member_of(value, owner, depth - 1) for value in values}
    return members.pop() if len(members) == 1 else None


def _aliases(node: ast.expr, scope: Scope, depth: int = _DEPTH) -> Iterator[Alias]:
    """The name that a member goes by, and those that it has it from."""
    owner = scope.lookup(node.id) if isinstance(node, ast.Name) and depth else None
    if isinstance(node, ast.Name) and owner is not None:
        yield Alias(owner.node, node.id)
        for value in owner.values.get(node.id, ()):
            yield from _aliases(value, owner, depth - 1)


def assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target of an assignment with its value, tuples taken apart where they match."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is not None:
        for target in targets:
            yield from _pairs(target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        yield target, value
    elif len(target.elts) == len(value.elts):
        for part, part_value in zip(target.elts, value.elts, strict=True):
            yield from _pairs(part, part_value)


def _imported_member(imported: Imported, scope: Scope, depth: int) -> str | None:
    if imported.member is None or imported.member == "language":
        return None
    if names_language(imported.module):
        return imported.member
    other = sibling(scope.module.path, imported.module)
    name = ast.Name(imported.member, ast.Load())
    return None if other is None else member_of(name, other, depth - 1)


def _unbound_member(node: ast.Name, scope: Scope, depth: int) -> str | None:
    """What a name is that nothing binds: it comes with all names of a module, or from elsewhere."""
    import builtins

    if hasattr(builtins, node.id):
        return None
    for module in _stars(scope):
        if names_language(module):
            return node.id
        other = sibling(scope.module.path, module)
        member = None if other is None else member_of(node, other, depth - 1)
        if member is not None:
            return member
    return node.id if node.id in DISTINCTIVE else None


def names_language(module: str) -> bool:
    """Whether a module is the language of TileLang, of a backend, or a part of one."""
    first, *rest = module.split(".")
    return first == "tilelang" and "language" in rest


def is_own(base: ast.expr) -> bool:
    return isinstance(base, ast.Name) and base.id in ("self", "cls")


def _is_fallback(value: ast.expr) -> bool:
    """What a name stands for where the language is missing."""
    return isinstance(value, ast.Constant)


def _stars(scope: Scope) -> Iterator[str]:
    level: Scope | None = scope
    while level is not None:
        yield from level.stars
        level = level.parent


def is_language(node: ast.expr, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether an expression is the language as a whole."""
    if depth == 0:
        return False
    if isinstance(node, ast.Attribute):
        return node.attr == "language"
    if not isinstance(node, ast.Name):
        return False
    owner = scope.lookup(node.id)
    if owner is None or node.id == "T":
        return node.id == "T"
    imported = owner.imported.get(node.id)
    if imported is not None:
        return _imports_language(imported)
    value = owner.single.get(node.id)
    return value is not None and is_language(value, owner, depth - 1)


def _imports_language(imported: Imported) -> bool:
    if imported.member == "language":
        return imported.module.split(".")[0] == "tilelang"
    return imported.member is None and names_language(imported.module)


def language_at(scope: Scope) -> str:
    """What the language as a whole goes by in a scope."""
    level: Scope | None = scope
    while level is not None:
        for name in _reachable(level):
            if scope.lookup(name) is level:
                return name
        level = level.parent
    return STARRED if any(map(names_language, _stars(scope))) else UNREACHABLE


def _reachable(scope: Scope) -> list[str]:
    """The names of the language that a scope binds whatever happens, `T` first."""
    names = [
        alias.asname or alias.name
        for node in _always(scope.node.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    found = [
        name
        for name in dict.fromkeys(names)
        if name in scope.imported and (name == "T" or _imports_language(scope.imported[name]))
    ]
    if "T" in scope.bindings and "T" not in scope.imported and "T" not in scope.single:
        found.append("T")  # a parameter
    return sorted(found, key=lambda name: name != "T")


def _always(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body that are reached whenever it is, and those of a `try`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.Try):
            yield from _always(statement.body)
