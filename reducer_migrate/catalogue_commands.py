"""`reducer-migrate explain` and `reducer-migrate rules`."""

from __future__ import annotations

import click

from reducer_migrate.documentation import UnknownCodeError
from reducer_migrate.listing import explain as explanation
from reducer_migrate.listing import rule_table

_CONTEXT = {"help_option_names": ["-h", "--help"]}


@click.command(context_settings=_CONTEXT)
@click.argument("code")
def explain(code: str) -> int:
    """Say what a CODE (RM203) or name means, why, and what to do, with examples."""
    try:
        click.echo(explanation(code), nl=False)
    except UnknownCodeError as error:
        raise click.UsageError(str(error)) from error
    return 0


@click.command(context_settings=_CONTEXT)
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def rules(output_format: str) -> int:
    """List every code, its name, severity and fix. JSON holds the whole documentation."""
    click.echo(rule_table(output_format), nl=False)
    return 0
