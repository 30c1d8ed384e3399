"""The command line: its options, its help, and what is an error of use."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from reducer_migrate import __version__
from reducer_migrate.config import DIALECTS, OUTPUT_FORMATS, Config, ConfigError
from reducer_migrate.globs import Globs
from reducer_migrate.settings import Mode, Settings
from reducer_migrate.subcommands import SUBCOMMANDS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reducer_migrate.files.ignore import Patterns
    from reducer_migrate.run import Run

_EPILOG = """\
\b
Commands, beside paths (a path of that name is written ./rules):
  reducer-migrate explain CODE            what a code means, with examples
  reducer-migrate rules                   the table of all codes
  reducer-migrate verify FILE[::KERNEL]   run kernels before and after the rewrite, and compare
  reducer-migrate completion SHELL        completion for bash, zsh or fish
  reducer-migrate server                  the language server, for editors

\b
Examples:
  reducer-migrate --diff kernels/         show what would change, write nothing
  reducer-migrate kernels/                rewrite in place
  reducer-migrate --check .               for CI: exit 1 while something is left to do
  reducer-migrate --tilelang 0.1.15 k.py  judge against a release other than the project's
  reducer-migrate --with-compat kernels/  also run on TileLang older than 0.1.14
  reducer-migrate --exclude 'third_party/' --exclude '*_gen.py' .
  reducer-migrate --check --select RM2,RM3 --output-format sarif --output-file out.sarif .
  reducer-migrate --check --baseline known.json .
  reducer-migrate - < old.py > new.py     as a filter

\b
Exit codes:
  0  nothing is left to do
  1  an error-level finding remains; with --check or --diff also: an edit is pending
  2  an error of use, or a file that could not be read, parsed or written

Options go before the configuration: reducer-migrate.toml, or [tool.reducer-migrate] in
pyproject.toml, the nearest one up from each file.
"""


def _complete_paths(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Files, and where nothing was given yet the commands; after a command its arguments."""
    from click.shell_completion import CompletionItem

    given = context.params.get("paths") or ()
    if given:
        from reducer_migrate.subcommands import choices

        words = choices(given[0])
        if words is not None:
            return [CompletionItem(word) for word in words if word.startswith(incomplete)]
    names = () if given else SUBCOMMANDS
    commands = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return [*commands, CompletionItem(incomplete, type="file")]


def _codes(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[str, ...] | None:
    """Selectors, given once with commas or several times; None where the option is not used."""
    if not values:
        return None
    texts = tuple(text.strip() for value in values for text in value.split(",") if text.strip())
    from reducer_migrate.documentation import UnknownCodeError, resolve_selector

    for text in texts:
        try:
            resolve_selector(text)
        except UnknownCodeError as error:
            raise click.BadParameter(str(error)) from error
    return texts


def _per_file(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[tuple[Globs, tuple[str, ...]], ...]:
    """`GLOB:CODES` pairs; globs are relative to the working directory."""
    pairs = []
    for value in values:
        glob, colon, texts = value.rpartition(":")
        if not colon or not glob:
            raise click.BadParameter(f"{value!r} is not GLOB:CODES, as in 'tests/*:RM3'")
        codes = _codes(context, parameter, (texts,)) or ()
        pairs.append((Globs(os.getcwd(), (glob,)), codes))
    return tuple(pairs)


def _release(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        from reducer_migrate.release import resolve

        try:
            resolve(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return value


@click.command(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=_complete_paths)
@click.option("--diff", is_flag=True, help="Print a unified diff to stdout and write nothing.")
@click.option("--check", is_flag=True, help="Print findings only and write nothing.")
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
    help="Convert to this spelling of v2, also where the other one is used already. "
    "Without it v1 becomes `shipped` (runs on TileLang 0.1.14 and newer) and v2 stays.",
)
@click.option(
    "--with-compat/--no-with-compat",
    default=None,
    help="Add `import reducer_compat` to rewritten files, which runs them on TileLang 0.1.8 "
    "and newer.",
)
@click.option(
    "--tilelang",
    metavar="RELEASE",
    callback=_release,
    help="The TileLang release to judge against, or `any`. "
    "Default: the configuration, else the project's pin, else the installed release.",
)
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes",
    default=None,
    help="Also make edits that may change results.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    callback=_codes,
    help="Report only these: codes, prefixes (RM2), names or ALL, separated by commas.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="CODES",
    callback=_codes,
    help="Do not report these. A reducer with an ignored finding is not rewritten.",
)
@click.option(
    "--extend-select",
    multiple=True,
    metavar="CODES",
    callback=_codes,
    help="Report these too, beside what --select or the configuration selects.",
)
@click.option(
    "--per-file-ignores",
    multiple=True,
    metavar="GLOB:CODES",
    callback=_per_file,
    help="Do not report these codes in files that match. May be repeated.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out what matches, in the syntax of .gitignore and relative to the current "
    "directory; holds for files named on the command line too. May be repeated.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    help="Do not report the findings recorded in this file.",
)
@click.option(
    "--write-baseline",
    is_flag=True,
    help="Record what is found in the baseline, instead of reporting it; rewrite nothing.",
)
@click.option(
    "--output-format",
    type=click.Choice(OUTPUT_FORMATS),
    help="How findings are written. It never decides whether files are rewritten.",
)
@click.option(
    "--output-file", type=click.Path(dir_okay=False), help="Write findings here, not to stdout."
)
@click.option(
    "--include-docs/--no-include-docs",
    default=None,
    help="Also look into the notebooks (.ipynb) and Markdown (.md) found in directories. "
    "Those that are named are always looked into.",
)
@click.option("--statistics", is_flag=True, help="Count findings by code instead of listing them.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Judge files in N processes. Worth it for hundreds of files with reducers.",
)
@click.option(
    "--stdin-filename",
    metavar="PATH",
    help="With `-`: the path to show, and to take configuration, ignores and excludes by.",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False),
    help="Use this configuration file instead of searching one.",
)
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option(
    "--strict/--no-strict", default=None, help="Warnings and notes fail the run as errors do."
)
@click.option("-q", "--quiet", is_flag=True, help="Print findings, but no summary or progress.")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@click.version_option(__version__, prog_name="reducer-migrate")
def command(
    paths: tuple[str, ...],
    diff: bool,
    check: bool,
    exclude: tuple[str, ...],
    write_baseline: bool,
    output_file: str | None,
    statistics: bool,
    jobs: int,
    stdin_filename: str | None,
    config_file: str | None,
    isolated: bool,
    quiet: bool,
    debug: bool,
    **options: Any,
) -> int:
    """Rewrite TileLang v1 reducers to v2, in place, and say what cannot be rewritten and why.

    PATHS are files (Python, notebooks, Markdown), directories (searched for .py files,
    respecting .gitignore), or `-` to read stdin and write stdout.
    """
    settings = Settings(
        mode=Mode.CHECK if check or write_baseline else Mode.DIFF if diff else Mode.WRITE,
        options=_options(options),
        config_file=config_file,
        isolated=isolated,
        quiet=quiet,
        debug=debug,
        statistics=statistics,
        output_file=output_file,
        stdin_filename=stdin_filename,
        write_baseline=write_baseline,
        jobs=jobs,
    )
    _check_use(paths, settings)
    try:
        return _run(paths, exclude, settings)
    except ConfigError as error:
        raise _BadConfiguration(str(error)) from error


class _BadConfiguration(click.ClickException):
    exit_code = 2


def _options(options: dict[str, Any]) -> Config:
    """What the command line says, as a configuration."""
    baseline = options["baseline"]
    return Config(
        **{
            **options,
            "extend_select": options["extend_select"] or (),
            "baseline": None if baseline is None else os.path.abspath(baseline),
            "place": None if options["tilelang"] is None else "--tilelang",
        }
    )


def _check_use(paths: tuple[str, ...], settings: Settings) -> None:
    if not paths:
        raise click.UsageError(
            "name a file or a directory, `.` for the current one, or `-` for stdin."
        )
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` (stdin) cannot be combined with other paths.")
    if settings.stdin_filename is not None and paths != ("-",):
        raise click.UsageError("`--stdin-filename` needs `-` as the only path.")
    if settings.isolated and settings.config_file is not None:
        raise click.UsageError("`--config` and `--isolated` exclude each other.")


def _run(paths: tuple[str, ...], exclude: tuple[str, ...], settings: Settings) -> int:
    from reducer_migrate.files.ignore import Patterns
    from reducer_migrate.report.output import Output
    from reducer_migrate.run import Run

    stdin = paths == ("-",)
    config = settings.config_of_run((settings.stdin_filename or ".",) if stdin else paths)
    if settings.write_baseline and config.baseline is None:
        raise click.UsageError("`--write-baseline` needs `--baseline FILE`.")
    options = settings.options._replace(output_format=config.output_format)
    settings = settings._replace(options=options)
    patterns = Patterns(exclude, os.getcwd())
    out, err = Output(sys.stdout), Output(sys.stderr)
    if settings.output_file is None:
        return _start(Run(settings, config, out, err), paths, patterns)
    try:
        file = open(settings.output_file, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
    except OSError as error:
        problem = f"{settings.output_file}: {error.strerror}"
        raise click.BadParameter(problem, param_hint="'--output-file'") from error
    with file:
        return _start(Run(settings, config, out, err, Output(file)), paths, patterns)


def _start(run: Run, paths: tuple[str, ...], exclude: Patterns) -> int:
    if paths == ("-",):
        return run.stdin(sys.stdin.buffer.read(), exclude)
    return run.paths(paths, exclude)
