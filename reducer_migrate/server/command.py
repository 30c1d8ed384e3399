"""`reducer-migrate server`. The server's library is an extra and loaded when it starts."""

from __future__ import annotations

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def server() -> int:
    """Run the language server on stdin and stdout, for an editor to start."""
    try:
        from reducer_migrate.server.service import service
    except ImportError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise click.ClickException(
            f"the language server needs {error.name}, which is not installed: "
            "`pip install 'reducer-migrate[server]'`"
        ) from error
    service().start_io()
    return 0
