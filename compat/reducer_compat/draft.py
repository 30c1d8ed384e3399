"""A kernel between two passes of TileLang, while ours run one after the other.

TVM looks through the whole body of a function whenever it makes one, to tell whether it is pure.
Passes hand on a draft instead, and the function is made once, after the last of them. A draft
has the part of a `PrimFunc` that they use, and remembers its statements for the next that asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter


@dataclass(frozen=True, eq=False)
class Draft:
    """A kernel that is not made yet.

    Attributes:
        original: the `PrimFunc` that it began as.
        begun: the statement and the attributes that it began with.
        body: its statement by now.
        attrs: its attributes by now.
    """

    original: Any
    begun: tuple[Any, Mapping[str, Any]]
    body: Any
    attrs: Mapping[str, Any]

    @cached_property
    def statements(self) -> tuple[Any, ...]:
        """Every statement, outermost first, in program order."""
        return tuple(tree.walk(self.body))

    def with_body(self, body: Any) -> Draft:
        return Draft(self.original, self.begun, body, self.attrs)

    def with_attr(self, name: str, value: Any) -> Draft:
        return self._with({**self.attrs, name: value})

    def without_attr(self, name: str) -> Draft:
        return self._with({key: value for key, value in self.attrs.items() if key != name})

    def _with(self, attrs: Mapping[str, Any]) -> Draft:
        """The same body, with its statements if they are known, under other attributes."""
        changed = Draft(self.original, self.begun, self.body, attrs)
        if "statements" in self.__dict__:
            changed.__dict__["statements"] = self.statements
        return changed

    def function(self) -> Any:
        """The `PrimFunc`."""
        body, before = self.begun
        made = self.original
        if self.body is not body:
            made = adapter().with_body(made, self.body)
        for name in before.keys() - self.attrs.keys():
            made = made.without_attr(name)
        for name, value in self.attrs.items():
            if name not in before or before[name] is not value:
                made = made.with_attr(name, value)
        return made


def draft(func: Any) -> Draft:
    """The draft that a kernel is, or begins."""
    if isinstance(func, Draft):
        return func
    attrs = {str(name): value for name, value in func.attrs.items()} if func.attrs else {}
    body = func.body
    return Draft(func, (body, attrs), body, attrs)


def statements(func: Any) -> tuple[Any, ...]:
    """Every statement of a kernel or a draft, outermost first, in program order."""
    return draft(func).statements
