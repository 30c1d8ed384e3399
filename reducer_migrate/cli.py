"""The command line: its options, its help, and what is an error of use."""

from __future__ import annotations

import os
import sys

import click

from reducer_migrate import __version__
from reducer_migrate.settings import Mode, Settings

_EPILOG = """\
\b
Examples:
  reducer-migrate --diff kernels/         show what would change, write nothing
  reducer-migrate kernels/                rewrite in place
  reducer-migrate --check .               for CI: exit 1 while something is left to do
  reducer-migrate --tilelang 0.1.15 k.py  judge against a release other than the project's
  reducer-migrate --with-compat kernels/  also run on TileLang older than 0.1.14
  reducer-migrate --exclude 'third_party/' --exclude '*_gen.py' .
  reducer-migrate - < old.py > new.py     as a filter

\b
Exit codes:
  0  nothing is left to do
  1  an error-level finding remains; with --check or --diff also: an edit is pending
  2  an error of use, or a file that could not be read, parsed or written
"""


@click.command(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--diff", is_flag=True, help="Print a unified diff to stdout and write nothing.")
@click.option("--check", is_flag=True, help="Print findings only and write nothing.")
@click.option(
    "--dialect",
    type=click.Choice(["shipped", "rfc"]),
    help="Convert to this spelling of v2, also where the other one is used already. "
    "Without it v1 becomes `shipped` (runs on TileLang 0.1.14 and newer) and v2 stays.",
)
@click.option(
    "--with-compat",
    is_flag=True,
    help="Add `import reducer_compat` to rewritten files, which runs them on TileLang 0.1.8 "
    "and newer.",
)
@click.option(
    "--tilelang",
    metavar="RELEASE",
    help="The TileLang release to judge against, or `any`. "
    "Default: the project's pin, else the installed release.",
)
@click.option("--unsafe-fixes", is_flag=True, help="Also make edits that may change results.")
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out what matches, in the syntax of .gitignore and relative to the current "
    "directory; holds for files named on the command line too. May be repeated.",
)
@click.option("--strict", is_flag=True, help="Warnings and notes fail the run as errors do.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings, but no summary or progress.")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@click.version_option(__version__, prog_name="reducer-migrate")
def command(
    paths: tuple[str, ...],
    diff: bool,
    check: bool,
    dialect: str | None,
    with_compat: bool,
    tilelang: str | None,
    unsafe_fixes: bool,
    exclude: tuple[str, ...],
    strict: bool,
    quiet: bool,
    debug: bool,
) -> int:
    """Rewrite TileLang v1 reducers to v2, in place, and say what cannot be rewritten and why.

    PATHS are files, directories (searched for .py files, respecting .gitignore), or `-` to
    read stdin and write stdout.
    """
    _check_use(paths, tilelang)
    settings = Settings(
        mode=Mode.DIFF if diff else Mode.CHECK if check else Mode.WRITE,
        dialect=dialect,
        tilelang=tilelang,
        with_compat=with_compat,
        unsafe_fixes=unsafe_fixes,
        strict=strict,
        quiet=quiet,
        debug=debug,
    )
    return _run(paths, exclude, settings)


def _check_use(paths: tuple[str, ...], tilelang: str | None) -> None:
    if not paths:
        raise click.UsageError(
            "name a file or a directory, `.` for the current one, or `-` for stdin."
        )
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` (stdin) cannot be combined with other paths.")
    if tilelang is not None:
        from reducer_migrate.release import Releases

        try:
            Releases(tilelang)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="'--tilelang'") from error


def _run(paths: tuple[str, ...], exclude: tuple[str, ...], settings: Settings) -> int:
    from reducer_migrate.files.ignore import Patterns
    from reducer_migrate.report.output import Output
    from reducer_migrate.run import Run

    run = Run(settings, Output(sys.stdout), Output(sys.stderr))
    if paths == ("-",):
        return run.stdin(sys.stdin.buffer.read())
    return run.paths(paths, Patterns(exclude, os.getcwd()))
