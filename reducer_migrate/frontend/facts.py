"""What is known of the function that is walked: its text, its buffers, its constants and dtypes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from reducer_migrate.frontend.buffers import declared_buffers, expression_dtype
from reducer_migrate.frontend.conditions import Conditions
from reducer_migrate.frontend.members import unparsed
from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import span_of
from reducer_migrate.frontend.values import fill_of, static_int
from reducer_migrate.source import Source
from reducer_rules.timeline import Fill, Index


class Facts:
    """Answers for the expressions of one function, or of a fragment without one.

    `conditions` follows the locals, which the walker binds as it meets them; all else holds
    everywhere in the function.
    """

    def __init__(self, scope: Scope, source: Source) -> None:
        self.scope = scope
        self.source = source
        self.buffers = declared_buffers(scope)
        self.conditions = Conditions(scope, self.buffers)

    def text(self, node: ast.expr) -> str:
        """The expression as the source has it."""
        span = span_of(node)
        start = self.source.offset(span.line, span.column)
        return self.source.text[start : self.source.offset(span.end_line, span.end_column)]

    def spelled(self, node: ast.expr) -> str:
        """The same on one line."""
        text = self.text(node)
        return unparsed(node) if "\n" in text or "\r" in text else text

    def number(self, node: ast.expr | None) -> int | None:
        """The value of a static integer expression."""
        return static_int(node, self.scope)

    def dtype(self, node: ast.expr) -> str | None:
        """The dtype key of an expression; None where the model cannot say."""
        return expression_dtype(node, self.scope, self.buffers)

    def fill(self, value: ast.expr) -> Fill:
        """The value of a fill or of a seed."""
        fill = fill_of(value, self.text(value), self.scope)
        return fill._replace(dtype=fill.dtype or self.dtype(value))

    def index(self, part: ast.expr) -> Index:
        """The index that one part of a subscript stands for."""
        variable = part.id if isinstance(part, ast.Name) else None
        return Index(self.text(part), self.number(part), variable)

    def indices(self, parts: Iterable[ast.expr]) -> tuple[Index, ...]:
        """The same for several parts."""
        return tuple(map(self.index, parts))
