"""Commands beside paths. The table imports nothing: a command is loaded when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

#: Where each command lives, as `module:attribute`.
SUBCOMMANDS = {
    "explain": "reducer_migrate.catalogue_commands:explain",
    "rules": "reducer_migrate.catalogue_commands:rules",
    "server": "reducer_migrate.server.command:server",
    "verify": "reducer_migrate.verify.command:verify",
    "completion": "reducer_migrate.completion:completion",
}


def load(name: str) -> click.Command:
    """The command of that name.

    Raises:
        KeyError: there is none.
    """
    module, _, attribute = SUBCOMMANDS[name].partition(":")
    found: click.Command = getattr(import_module(module), attribute)
    return found


def choices(name: str) -> Sequence[str] | None:
    """What can follow a command, for completion; None where it is a path."""
    if name == "explain":
        from reducer_migrate.documentation import codes

        return codes()
    if name == "completion":
        from reducer_migrate.completion import SHELLS

        return SHELLS
    return () if name in SUBCOMMANDS and name != "verify" else None
