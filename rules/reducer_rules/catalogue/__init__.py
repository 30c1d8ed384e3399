"""The rules, one module each, discovered by name: adding a module adds the rule."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from reducer_rules.rule import Rule


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, ordered by code. A module that fails to import is an error, not a skip."""
    found: list[Rule] = []
    for info in iter_modules(__path__):
        if info.name.startswith("rm"):
            module = import_module(f"{__name__}.{info.name}")
            found.extend(
                value()
                for value in vars(module).values()
                if isinstance(value, type)
                and issubclass(value, Rule)
                and value.__module__ == module.__name__
            )
    return tuple(sorted(found, key=lambda rule: rule.code))


def rule(code: str) -> Rule:
    """The rule with that code.

    Raises:
        KeyError: no rule has it.
    """
    for candidate in rules():
        if candidate.code == code:
            return candidate
    raise KeyError(code)
