"""Configuration: the nearest `reducer-migrate.toml`, or `pyproject.toml` with our table.

A file is looked for upwards from each source, parsed once, and only if it names the tool.
Paths and globs in it are relative to the file that holds them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from reducer_migrate.globs import Globs

OWN_FILE = "reducer-migrate.toml"
PYPROJECT = "pyproject.toml"
DIALECTS = ("shipped", "rfc")
OUTPUT_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


class ConfigError(ValueError):
    """A configuration that cannot be used; the message starts with `path:` or `path:line:`."""


class Config(NamedTuple):
    """What one file, or the command line, asks for. None means: not said.

    `tilelang` is a release or `any`, and `place` says where that is written, as
    `pyproject.toml:12`. `baseline` is an absolute path. `verify` holds the arguments of kernels, by
    name; those of one kernel are pairs in their turn. `extend_select`, `per_file_ignores` and
    `exclude` add up over the levels; of everything else the nearest level counts.
    """

    path: str | None = None
    tilelang: str | None = None
    place: str | None = None
    dialect: str | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[Globs, tuple[str, ...]], ...] = ()
    exclude: tuple[Globs, ...] = ()
    baseline: str | None = None
    output_format: str | None = None
    unsafe_fixes: bool | None = None
    include_docs: bool | None = None
    strict: bool | None = None
    with_compat: bool | None = None
    verify: tuple[tuple[str, Any], ...] | None = None

    def over(self, other: Config) -> Config:
        """This configuration (the options) laid over `other` (the file)."""
        said: dict[str, Any] = {
            name: value for name, value in zip(self._fields, self, strict=True) if value is not None
        }
        for name in _ADDING:
            said[name] = getattr(other, name) + getattr(self, name)
        return other._replace(**said)

    def excludes(self, path: str) -> bool:
        """Whether an `exclude` pattern fits `path` or a directory above it."""
        return any(globs.match(path) for globs in self.exclude)


_ADDING = ("extend_select", "per_file_ignores", "exclude")


def config_for(source: str) -> Config:
    """The configuration that applies to a file or directory; empty where there is none.

    Raises:
        ConfigError: the nearest configuration cannot be used.
    """
    absolute = os.path.abspath(source)
    return _nearest(absolute if os.path.isdir(absolute) else os.path.dirname(absolute))


def config_above(paths: Iterable[str]) -> Config:
    """The configuration for what a run has once: that of the directory all `paths` share.

    Raises:
        ConfigError: it cannot be used.
    """
    absolute = [os.path.abspath(path) for path in paths]
    try:
        shared = os.path.commonpath(absolute)
    except ValueError:  # no paths, or several drives
        shared = os.getcwd()
    return config_for(shared)


def load(path: str) -> Config:
    """The configuration in one file; of a `pyproject.toml` only our table counts.

    Raises:
        ConfigError: it cannot be read, is no TOML, or holds a key or value that is not known.
    """
    return _load(os.path.abspath(path))


def forget() -> None:
    """Read every file again when it is next asked for."""
    _load.cache_clear()
    _nearest.cache_clear()


@cache
def _load(path: str) -> Config:
    raw = _read(path)
    document = _parse(path, raw)
    table = _own_table(document) if os.path.basename(path) == PYPROJECT else document
    return _Reader(path, raw.decode()).config({} if table is None else table)


@cache
def _nearest(directory: str) -> Config:
    own = os.path.join(directory, OWN_FILE)
    if os.path.isfile(own):
        return _load(own)
    project = os.path.join(directory, PYPROJECT)
    if os.path.isfile(project) and _has_table(project):
        return _load(project)
    above = os.path.dirname(directory)
    return Config() if above == directory else _nearest(above)


def _has_table(project: str) -> bool:
    """Whether a `pyproject.toml` configures this tool. One that does not is not parsed."""
    raw = _read(project)
    return b"reducer-migrate" in raw and _own_table(_parse(project, raw)) is not None


def _own_table(document: dict[str, Any]) -> object:
    """What a decoded `pyproject.toml` holds for this tool, None where it holds nothing."""
    tool = document.get("tool")
    return tool.get("reducer-migrate") if isinstance(tool, dict) else None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        problem = f"cannot read the configuration: {error.strerror}"
        raise ConfigError(f"{_shown(path)}: {problem}") from error


def _parse(path: str, raw: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(raw.decode())
    except ValueError as error:
        raise ConfigError(f"{_shown(path)}: the configuration is no TOML: {error}") from error
    return document


def _shown(path: str) -> str:
    """`path` relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


class _Reader(NamedTuple):
    """Checks the decoded table of one file."""

    path: str
    text: str

    def config(self, table: object) -> Config:
        if not isinstance(table, dict):
            raise self.error("reducer-migrate", "must be a table")
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _KEYS:
                raise ConfigError(f"{self.place(key)}: unknown key {key!r}{_suggest(key)}")
            values[key.replace("-", "_")] = _KEYS[key](self, key, value)
        place = self.place("tilelang") if "tilelang" in table else None
        return Config(path=self.path, place=place, **values)

    def error(self, key: str, problem: str) -> ConfigError:
        return ConfigError(f"{self.place(key)}: {key!r} {problem}")

    def place(self, key: str) -> str:
        """`path:line` of the line that sets `key`. TOML parsers do not say: it is searched."""
        quoted = f"[\"']?{re.escape(key)}[\"']?"
        own_line = rf"[ \t]*(?:{quoted}[ \t]*[=.]|\[.*\b{quoted}[ \t]*\])"
        inline = rf".*[{{,][ \t]*{quoted}[ \t]*="
        for setting in map(re.compile, (own_line, inline)):
            for number, line in enumerate(self.text.split("\n"), 1):
                if setting.match(line):
                    return f"{_shown(self.path)}:{number}"
        return _shown(self.path)

    def string(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(key, f"must be a string, not {_kind(value)}")
        return value

    def boolean(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, not {_kind(value)}")
        return value

    def strings(self, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.error(key, f"must be a list of strings, not {_kind(value)}")
        for item in value:
            if not isinstance(item, str):
                raise self.error(key, f"must be a list of strings, and holds {_kind(item)}")
        return tuple(value)

    def release(self, key: str, value: object) -> str:
        from reducer_migrate.release import resolve

        text = self.string(key, value)
        try:
            resolve(text)
        except ValueError as error:
            raise self.error(key, f"is {error}") from error
        return text

    def choice(self, key: str, value: object, known: Iterable[str]) -> str:
        text = self.string(key, value)
        if text not in known:
            raise self.error(key, f"is {text!r}, expected one of {', '.join(known)}")
        return text

    def dialect(self, key: str, value: object) -> str:
        return self.choice(key, value, DIALECTS)

    def output_format(self, key: str, value: object) -> str:
        return self.choice(key, value, OUTPUT_FORMATS)

    def selectors(self, key: str, value: object) -> tuple[str, ...]:
        from reducer_migrate.documentation import UnknownCodeError, resolve_selector

        texts = self.strings(key, value)
        for text in texts:
            try:
                resolve_selector(text)
            except UnknownCodeError as error:
                raise self.error(key, f"names an {error}") from error
        return texts

    def ignores(self, key: str, value: object) -> tuple[tuple[Globs, tuple[str, ...]], ...]:
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table from glob to codes, not {_kind(value)}")
        return tuple(
            (Globs(self.directory, (glob,)), self.selectors(glob, codes))
            for glob, codes in value.items()
        )

    def exclude(self, key: str, value: object) -> tuple[Globs, ...]:
        globs = self.strings(key, value)
        return (Globs(self.directory, globs),) if globs else ()

    def arguments(self, key: str, value: object) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table from name to value, not {_kind(value)}")
        return tuple(
            (name, self.arguments(name, each) if isinstance(each, dict) else self.value(name, each))
            for name, each in value.items()
        )

    def value(self, key: str, value: object) -> object:
        items = value if isinstance(value, list) else [value]
        for item in items:
            if not isinstance(item, (bool, int, float, str)):
                wanted = "a number, a string, a boolean, or a list of them"
                raise self.error(key, f"must be {wanted}, not {_kind(item)}")
        return tuple(items) if isinstance(value, list) else value

    def file(self, key: str, value: object) -> str:
        return os.path.abspath(os.path.join(self.directory, self.string(key, value)))

    @property
    def directory(self) -> str:
        return os.path.dirname(self.path)


_KEYS: Mapping[str, Callable[[_Reader, str, object], object]] = {
    "tilelang": _Reader.release,
    "dialect": _Reader.dialect,
    "select": _Reader.selectors,
    "ignore": _Reader.selectors,
    "extend-select": _Reader.selectors,
    "per-file-ignores": _Reader.ignores,
    "exclude": _Reader.exclude,
    "baseline": _Reader.file,
    "output-format": _Reader.output_format,
    "unsafe-fixes": _Reader.boolean,
    "include-docs": _Reader.boolean,
    "strict": _Reader.boolean,
    "with-compat": _Reader.boolean,
    "verify": _Reader.arguments,
}


def _suggest(key: str) -> str:
    import difflib

    close = difflib.get_close_matches(key.replace("_", "-").lower(), _KEYS, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known keys are {', '.join(_KEYS)}"


def _kind(value: object) -> str:
    """The TOML name of a value's type, with its article."""
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
    names |= {list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
