"""`reducer-migrate completion`: the script that teaches a shell the options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
#: The variable by which the script asks for completions; click derives it from the program's name.
VARIABLE = "_REDUCER_MIGRATE_COMPLETE"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the completion script of a SHELL.

    \b
    bash:  eval "$(reducer-migrate completion bash)"       in ~/.bashrc
    zsh:   eval "$(reducer-migrate completion zsh)"        in ~/.zshrc
    fish:  reducer-migrate completion fish > ~/.config/fish/completions/reducer-migrate.fish
    """
    from reducer_migrate.cli import command

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(command, {}, "reducer-migrate", VARIABLE).source())
    return 0
