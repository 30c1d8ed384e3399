"""Rewrite TileLang v1 reducers to v2, and say what cannot be rewritten and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reducer_migrate.api import Result, lint, migrate
    from reducer_migrate.diagnostic import Diagnostic

__version__ = "0.1.0"
__all__ = ["Diagnostic", "Result", "__version__", "lint", "migrate"]


def __getattr__(name: str) -> object:
    """Load the public names on first use: the command line imports this package on every run."""
    if name == "Diagnostic":
        from reducer_migrate import diagnostic

        return diagnostic.Diagnostic
    if name in ("Result", "lint", "migrate"):
        from reducer_migrate import api

        value: object = getattr(api, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(__all__) | set(globals()))
