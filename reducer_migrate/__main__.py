"""`reducer-migrate` and `python -m reducer_migrate`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

_INTERRUPTED = 130
#: The packages that are installed with this one, and lie elsewhere in its source tree.
_BESIDE = ("reducer_rules", "reducer_compat")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code; nothing the user does ends in a traceback."""
    import click

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _dispatch(arguments)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; every file is either as it was or rewritten.", err=True)
        code = _INTERRUPTED
    except Exception as error:
        if "--debug" in arguments:
            raise
        click.echo(f"error: {_said(error)}", err=True)
        code = 2
    sys.exit(code)


def _said(error: Exception) -> str:
    """What is wrong; of a source tree that nobody installed, how to install it."""
    if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in _BESIDE:
        from pathlib import Path

        tree = Path(__file__).resolve().parents[1]
        return f"reducer_migrate runs from {tree}, which is not installed: pip install -e {tree}"
    return f"{type(error).__name__}: {error} (see --debug)"


def _dispatch(arguments: list[str]) -> int:
    """Call the command that the first argument names, else the one that takes paths."""
    import gc

    from reducer_migrate.subcommands import SUBCOMMANDS, load

    # Syntax trees are many objects and no cycles: the collector would look through them in vain.
    gc.set_threshold(100_000, 20, 20)
    code: int
    if arguments[:1] and arguments[0] in SUBCOMMANDS:
        name = arguments.pop(0)
        program = f"reducer-migrate {name}"
        code = load(name).main(arguments, prog_name=program, standalone_mode=False)
    else:
        from reducer_migrate.cli import command

        code = command.main(arguments, prog_name="reducer-migrate", standalone_mode=False)
    return code


def entry() -> NoReturn:
    """Run as a process of its own, and end it without freeing every object first.

    Taking the syntax trees of a checkout apart is a twentieth of a check. What was written is
    flushed, files are closed, and nothing registers itself with `atexit`.
    """
    try:
        main()
    except SystemExit as ending:
        code = ending.code or 0
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    entry()
