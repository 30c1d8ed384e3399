"""`reducer-migrate verify`: its options, and which TileLang it uses."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from reducer_migrate.config import Config, ConfigError, config_for
from reducer_migrate.release import Releases, Resolved, resolve, untested
from reducer_migrate.source import Source, UndecodableError
from reducer_migrate.verify import releases, report
from reducer_migrate.verify.arguments import ArgumentFinder
from reducer_migrate.verify.expected import problem
from reducer_migrate.verify.kernels import Kernel, kernels_of
from reducer_migrate.verify.literals import parse_arguments, twice
from reducer_migrate.verify.run import Options, Row, RunError, Subject, run
from reducer_rules import Release
from reducer_rules.notices import NO_TILELANG
from reducer_rules.release import TVM_FFI

_EPILOG = """\
\b
Examples:
  reducer-migrate verify kernels/sum.py
  reducer-migrate verify kernels/gemv.py::gemv --args 'M=1024, N=1024'
  reducer-migrate verify --tilelang 0.1.13 kernels/gemv.py

\b
Arguments of a factory are, in this order: --args; [tool.reducer-migrate.verify] in
pyproject.toml; a call in the file; the parameter's default; a constant of the file with the
parameter's name. Sizes of symbolic dimensions are given in the same way.

\b
Exit codes:
  0  every kernel computes what its source adds up to, before and after the rewrite
  1  numbers differ, or a kernel could not be rewritten
  2  an error of use, or a kernel that could not be run; all others were
"""


class _Use(click.ClickException):
    exit_code = 2


def _arch(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"sm_\d+[a-z]?", value):
        raise click.BadParameter(f"{value!r} is no architecture, such as sm_75 or sm_90")
    return value


@click.command(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("target", metavar="FILE[::KERNEL]")
@click.option(
    "--args",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Arguments of the functions that make kernels. May be repeated.",
)
@click.option(
    "--tilelang",
    metavar="RELEASE",
    help="Run on this release. One that is not installed is put into a directory of its own with "
    "pip; the environment stays as it is. Default: the installed release.",
)
@click.option(
    "--releases",
    "directory",
    type=click.Path(file_okay=False),
    help=f"Where releases lie side by side. Default: ${releases.VARIABLE}, else a directory in "
    "the user's cache.",
)
@click.option(
    "--with-compat",
    is_flag=True,
    help="Lower v2 by reducer_compat, also where TileLang has v2 reducers itself.",
)
@click.option("--unsafe-fixes", is_flag=True, help="Also make rewrites that may change results.")
@click.option("--gpu", is_flag=True, help="Run on the GPU that torch sees, not in the interpreter.")
@click.option(
    "--arch",
    default="sm_75",
    show_default=True,
    metavar="ARCH",
    callback=_arch,
    help="What the interpreter runs code for; sm_90 runs warp-specialized kernels.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the inputs."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="For one kernel on one side.",
)
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def verify(
    target: str,
    arguments: Sequence[str],
    tilelang: str | None,
    directory: str | None,
    with_compat: bool,
    unsafe_fixes: bool,
    gpu: bool,
    arch: str,
    seed: int,
    timeout: float,
    output_format: str,
    debug: bool,
) -> int:
    """Run the kernels of a file before and after the rewrite, on the same inputs, and compare.

    This command EXECUTES the file; no other command does. Nothing is written to it. Kernels
    with reducers run in an interpreter, without a GPU: v1 as TileLang lowers it, v2 as TileLang
    or reducer_compat does, and both against the contributions that stand in the source.
    """
    path, _, wanted = target.partition("::")
    source, tree = _read(path)
    kernels = _select(kernels_of(source, tree), wanted, path)
    config = _config(path)
    release, place = _release(tilelang, directory)
    options = Options(
        release,
        place,
        with_compat or bool(config.with_compat),
        unsafe_fixes or bool(config.unsafe_fixes),
        gpu,
        arch,
        seed,
        timeout,
    )
    subject = Subject.of(source, tree, options)
    by = "reducer_compat" if subject.compat else f"TileLang {release}"
    given = _Given.of(arguments, config)
    given.check(kernels, source.text)
    _announce(path, options, config, tilelang)
    try:
        rows = list(run(subject, kernels, ArgumentFinder(tree), given.to, options))
    except RunError as error:
        code = NO_TILELANG.code if error.kind == "environment" else "--gpu:"
        raise _Use(f"{code} {error}") from error
    if output_format == "json":
        head = {"file": path, "tilelang": str(release), "v2_by": by, "seed": seed}
        click.echo(report.as_json(rows, **head), nl=False)
    else:
        report.table(rows, str(release), by, sys.stdout)
    for name in given.unused(rows):
        click.echo(f"warning: --args gives {name}, which no kernel takes", err=True)
    click.echo(report.summary(rows), err=True)
    return report.exit_code(rows)


def _read(path: str) -> tuple[Source, ast.Module]:
    """The file and its syntax."""
    if not path.endswith(".py"):
        raise click.UsageError(f"{path}: verify executes Python files (.py)")
    try:
        source = Source.read(path, Path(path).read_bytes())
        return source, ast.parse(source.text)
    except OSError as error:
        raise _Use(f"{path}: RM003 cannot be read: {error.strerror}") from error
    except UndecodableError as error:
        raise _Use(f"{path}: RM002 {error}") from error
    except SyntaxError as error:
        raise _Use(f"{path}:{error.lineno}: RM001 does not parse: {error.msg}") from error


def _select(kernels: tuple[Kernel, ...], wanted: str, path: str) -> tuple[Kernel, ...]:
    if not kernels:
        raise _Use(f"{path}: no kernel found: no function of the file allocates a reducer")
    chosen = tuple(each for each in kernels if not wanted or each.answers_to(wanted))
    if not chosen:
        names = ", ".join(each.name for each in kernels)
        raise _Use(f"{path}: no kernel `{wanted}` with a reducer; there is {names}")
    return chosen


def _config(path: str) -> Config:
    try:
        return config_for(path)
    except ConfigError as error:
        raise _Use(str(error)) from error


@dataclass(frozen=True)
class _Given:
    """The values that the user gives: by `--args` (for every kernel), and in the configuration."""

    options: dict[str, Any]
    config: Config

    @classmethod
    def of(cls, texts: Sequence[str], config: Config) -> _Given:
        found: dict[str, Any] = {}
        for text in texts:
            try:
                values = parse_arguments(text)
                for name in values.keys() & found.keys():
                    raise ValueError(twice(name))
                found.update(values)
            except ValueError as error:
                raise click.BadParameter(str(error), param_hint="'--args'") from error
        return cls(found, config)

    def check(self, kernels: Sequence[Kernel], text: str) -> None:
        """Refuse, before anything is run, what no kernel can take."""
        known = dict.fromkeys(
            name for each in kernels for name in (*each.parameters, *each.constants)
        )
        for name in self.options:
            if name not in known and not re.search(rf"\b{name}\b", text):
                raise click.BadParameter(_unknown(name, kernels, [*known]), param_hint="'--args'")
        for kernel in kernels:
            wrong = problem(kernel.name, kernel.kinds, self.to(kernel))
            if wrong is not None:
                raise _Use(wrong)

    def to(self, kernel: Kernel) -> dict[str, tuple[Any, str]]:
        """What is given for one kernel, with its origin; a table of its name goes before others."""
        table = dict(self.config.verify or ())
        shared = {name: value for name, value in table.items() if not _is_table(value)}
        own = table.get(kernel.name, ())
        shared.update(dict(own) if _is_table(own) else {})
        where = os.path.basename(self.config.path or "")
        found = {name: (_listed(value), where) for name, value in shared.items()}
        return {**found, **{name: (value, "--args") for name, value in self.options.items()}}

    def unused(self, rows: Sequence[Row]) -> list[str]:
        """The names in `--args` that are neither an argument of a kernel that ran nor a size."""
        if any(row.sizes is None for row in rows):
            return []
        taken = {name for row in rows for name in (*row.arguments.values, *(row.sizes or ()))}
        scalars = {each for row in rows for each in row.inputs}
        return [name for name in self.options if name not in taken | scalars]


def _unknown(name: str, kernels: Sequence[Kernel], known: Sequence[str]) -> str:
    names = ", ".join(f"`{kernel.name}`" for kernel in kernels)
    takes = f"the arguments are {', '.join(known)}" if known else "there are no arguments"
    near = get_close_matches(name, known, 1, 0.5) or [
        each for each in known if each.lower() == name.lower()
    ]
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"{name} is no argument of {names}: {takes}{meant}"


def _is_table(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, tuple) for each in value)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _release(wanted: str | None, directory: str | None) -> tuple[Release, Path | None]:
    """The release to run on, and where it lies; installs it where it was asked for."""
    installed = _installed()
    if wanted is None:
        if installed is None:
            raise _lacking("TileLang is not installed", f", and {_BESIDE}")
        _require("torch", "numpy")
        return installed, None
    release = wanted.removeprefix("v")
    if release not in TVM_FFI:
        known = ", ".join(TVM_FFI)
        raise click.BadParameter(
            f"verify runs TileLang {known}, not {wanted}", param_hint="'--tilelang'"
        )
    if installed is not None and str(installed) == release:
        _require("torch", "numpy")
        return installed, None
    _require("torch", "numpy")
    return Release.parse(release), _side_by_side(release, directory)


_BESIDE = "`--tilelang 0.1.15` then runs another release beside it"


def _require(*modules: str) -> None:
    """Check that what every TileLang needs can be imported."""
    for module in modules:
        if find_spec(module) is None:
            raise _lacking(f"TileLang needs {module}, which is not installed")


def _lacking(what: str, more: str = "") -> _Use:
    """An environment that kernels cannot be run in, and the way out."""
    return _Use(
        f"{NO_TILELANG.code} {what}: verify runs kernels with it. "
        "`pip install 'reducer-migrate[compat]'` (in a clone `pip install -e '.[compat]'`) brings "
        f"all it needs{more}"
    )


def _side_by_side(release: str, directory: str | None) -> Path:
    into = Path(directory) if directory else releases.directory()
    found = releases.installed_in(into, release)
    if found is not None:
        return found.resolve()
    wanted = " ".join(releases.requirements(release))
    place = _from_home(into / release)
    click.echo(f"Installing {wanted} into {place}, beside the environment.", err=True)
    try:
        return releases.install(release, into).resolve()
    except releases.InstallError as error:
        raise _Use(str(error)) from error


def _from_home(path: Path) -> Path:
    """The path as a shell takes it, short where it lies in the user's home."""
    home = Path(os.path.expanduser("~"))
    return Path("~") / path.relative_to(home) if path.is_relative_to(home) else path


def _installed() -> Release | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Release.parse(version("tilelang"))
    except PackageNotFoundError:
        return None


def _announce(path: str, options: Options, config: Config, asked: str | None) -> None:
    """Say what is executed, and where the project means another release."""
    beside = "" if options.place is None else ", installed side by side"
    release = f"TileLang {options.release}{beside}"
    click.echo(f"Executing {path}, as it is and rewritten, with {release}.", err=True)
    said = untested(Resolved(options.release, "installed"))
    if said is not None:
        click.echo(f"warning: {said}", err=True)
    if asked is not None:
        return
    configured = None
    if config.tilelang is not None:
        configured = resolve(config.tilelang, config.place or "the configuration")
    pinned = Releases().of(path, configured)
    if pinned.release is not None and pinned.release != options.release:
        said = f"note: the project uses {pinned}; `--tilelang {pinned.release}` runs v1 on it"
        click.echo(said, err=True)
