"""`reducer-migrate` and `python -m reducer_migrate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code; nothing the user does ends in a traceback."""
    import click

    from reducer_migrate.cli import command

    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = command.main(list(arguments), prog_name="reducer-migrate", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; every file is either as it was or rewritten.", err=True)
        code = _INTERRUPTED
    except Exception as error:
        if "--debug" in arguments:
            raise
        click.echo(f"error: {type(error).__name__}: {error} (see --debug)", err=True)
        code = 2
    sys.exit(code)


if __name__ == "__main__":
    main()
