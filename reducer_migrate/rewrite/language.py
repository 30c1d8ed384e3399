"""How a rewrite reaches the members of the language that it writes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from reducer_migrate.frontend import Reducer
from reducer_migrate.frontend.members import (
    STARRED,
    UNREACHABLE,
    is_language,
    language_at,
    names_language,
)
from reducer_migrate.frontend.syntax import names_bound, names_bound_or_used
from reducer_migrate.rewrite.actions import Refusal

_USUAL = "T"


class Reached(NamedTuple):
    """What members are written with: `T`, empty where they go by their bare names.

    `imports` says that the module has to import the language under that name first.
    """

    base: str
    imports: bool = False


@dataclass(frozen=True)
class Language:
    """The language in one module; `starred` says that `import *` brings the v2 operations, too.

    It does not where the runtime adds them to the language afterwards.
    """

    tree: ast.Module
    starred: bool = True

    def of(self, reducer: Reducer) -> Reached | Refusal:
        """How the members are reached where `reducer` is allocated."""
        alloc = reducer.timeline.allocs[0]
        call = reducer.call(alloc)
        assert isinstance(call.func, ast.Attribute)
        base = self._base(call.func.value, reducer)
        if base == STARRED and self.starred:
            return Reached("")
        if base not in (STARRED, UNREACHABLE):
            return Reached(base)
        if self._is_around:
            return Reached(_USUAL)
        if self._can_import:
            return Reached(_USUAL, imports=True)
        return Refusal(
            "RM006",
            alloc,
            f"`{reducer.timeline.name}` is allocated by a bare name, so there is none to reach "
            "the other operations by",
            "import the language as a whole: `import tilelang.language as T`",
        )

    def _base(self, written: ast.expr, reducer: Reducer) -> str:
        """The language at an allocation, and no module that may have but the allocation of it."""
        base = ast.unparse(written)
        if base in (STARRED, UNREACHABLE) or is_language(written, reducer.scope):
            return base
        known = language_at(reducer.scope)
        return base if known in (STARRED, UNREACHABLE) else known

    @cached_property
    def _is_around(self) -> bool:
        """Whether the usual name is read and bound nowhere, as in a cell of a notebook."""
        read = any(
            isinstance(node, ast.Name) and node.id == _USUAL and isinstance(node.ctx, ast.Load)
            for node in ast.walk(self.tree)
        )
        return read and _USUAL not in names_bound(self.tree)

    @cached_property
    def _can_import(self) -> bool:
        """Whether the module imports members at its top level, and leaves the usual name free."""
        return member_import(self.tree) is not None and _USUAL not in names_bound_or_used(self.tree)


def member_import(tree: ast.Module) -> ast.ImportFrom | None:
    """The first statement of a module, outside of any block, that imports members."""
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom) or statement.level or statement.col_offset:
            continue
        if names_language(statement.module or ""):
            return statement
    return None
