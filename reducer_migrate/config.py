"""Configuration: the nearest `reducer-migrate.toml`, or `pyproject.toml` with our table.

A file is looked for upwards from each source, parsed once, and only if it names the tool.
Paths and globs in it are relative to the file that holds them.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from reducer_rules import Release
from reducer_rules.timeline import Dialect

from reducer_migrate.patterns import Patterns

OWN_FILE = "reducer-migrate.toml"
PYPROJECT = "pyproject.toml"
DIALECTS = {dialect.value: dialect for dialect in (Dialect.SHIPPED, Dialect.RFC)}
OUTPUT_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


class ConfigError(ValueError):
    """A configuration that cannot be used; the message starts with `path:` or `path:line:`."""


@dataclass(frozen=True, slots=True)
class Config:
    """What one file, or the command line, asks for. None means: not said.

    `tilelang` is a release, `baseline` an absolute path. `extend_select` and
    `per_file_ignores` add up over the levels; of everything else the nearest level counts.
    """

    path: Path | None = None
    tilelang: str | None = None
    dialect: Dialect | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    exclude: tuple[Patterns, ...] = ()
    baseline: Path | None = None
    output_format: str | None = None
    unsafe_fixes: bool | None = None
    include_docs: bool | None = None
    strict: bool | None = None
    with_compat: bool | None = None

    def over(self, other: Config) -> Config:
        """This configuration (the options) laid over `other` (the file)."""
        said = {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None and value != ()
        }
        for name in ("extend_select", "per_file_ignores", "exclude"):
            said[name] = getattr(other, name) + getattr(self, name)
        said["path"] = self.path or other.path
        return replace(other, **said)

    def excludes(self, path: Path) -> bool:
        """Whether an `exclude` pattern fits `path` or a directory above it."""
        return any(patterns.match(path) for patterns in self.exclude)


def config_for(source: Path) -> Config:
    """The configuration that applies to a file or directory; empty where there is none.

    Raises:
        ConfigError: the nearest configuration cannot be used.
    """
    absolute = Path(os.path.abspath(source))
    return _nearest(absolute if absolute.is_dir() else absolute.parent)


@cache
def load(path: Path) -> Config:
    """The configuration in one file; of a `pyproject.toml` only our table counts.

    Raises:
        ConfigError: it cannot be read, is no TOML, or holds a key or value that is not known.
    """
    path = Path(os.path.abspath(path))
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error.strerror}") from error
    document = _parse(path, raw)
    table = _own_table(document) if path.name == PYPROJECT else document
    return _Reader(path, raw.decode()).config({} if table is None else table)


@cache
def _nearest(directory: Path) -> Config:
    own = directory / OWN_FILE
    if own.is_file():
        return load(own)
    project = directory / PYPROJECT
    if project.is_file() and _has_table(project):
        return load(project)
    return Config() if directory.parent == directory else _nearest(directory.parent)


def _has_table(project: Path) -> bool:
    """Whether a `pyproject.toml` configures this tool. One that does not is not parsed."""
    try:
        raw = project.read_bytes()
    except OSError:
        return False
    if b"reducer-migrate" not in raw:
        return False
    return _own_table(_parse(project, raw)) is not None


def _own_table(document: dict[str, Any]) -> object:
    """What a decoded `pyproject.toml` holds for this tool, None where it holds nothing."""
    tool = document.get("tool")
    return tool.get("reducer-migrate") if isinstance(tool, dict) else None


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the configuration is no TOML: {error}") from error
    return document


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks the decoded table of one file."""

    path: Path
    text: str

    def config(self, table: object) -> Config:
        if not isinstance(table, dict):
            raise self.error("reducer-migrate", "must be a table")
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _KEYS:
                raise self.error(key, f"unknown key{_suggest(key, _KEYS)}", named=True)
            values[key.replace("-", "_")] = _KEYS[key](self, key, value)
        return Config(path=self.path, **values)

    def error(self, key: str, problem: str, *, named: bool = False) -> ConfigError:
        line = self.line(key)
        place = f"{self.path}:{line}" if line else str(self.path)
        if named:
            problem = problem.replace("unknown key", f"unknown key {key!r}", 1)
            return ConfigError(f"{place}: {problem}")
        return ConfigError(f"{place}: {key!r} {problem}")

    def line(self, key: str) -> int:
        """The line that sets `key`, from 1; 0 where it is not found. TOML parsers do not say."""
        quoted = f"[\"']?{re.escape(key)}[\"']?"
        setting = re.compile(rf"[ \t]*(?:{quoted}[ \t]*[=.]|\[.*\b{quoted}[ \t]*\])")
        for number, line in enumerate(self.text.split("\n"), 1):
            if setting.match(line):
                return number
        return 0

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
        text = self.string(key, value)
        if text == "any":
            return text
        try:
            return str(Release.parse(text))
        except ValueError as error:
            raise self.error(key, f"is {error}") from error

    def choice(self, key: str, value: object, known: Mapping[str, object]) -> str:
        text = self.string(key, value)
        if text not in known:
            raise self.error(key, f"is {text!r}, expected one of {', '.join(known)}")
        return text

    def dialect(self, key: str, value: object) -> Dialect:
        return DIALECTS[self.choice(key, value, DIALECTS)]

    def output_format(self, key: str, value: object) -> str:
        return self.choice(key, value, dict.fromkeys(OUTPUT_FORMATS))

    def selectors(self, key: str, value: object) -> tuple[str, ...]:
        from reducer_migrate.documentation import UnknownCodeError, resolve_selector

        texts = self.strings(key, value)
        for text in texts:
            try:
                resolve_selector(text)
            except UnknownCodeError as error:
                raise self.error(key, f"names an {error}") from error
        return texts

    def ignores(self, key: str, value: object) -> tuple[tuple[Patterns, tuple[str, ...]], ...]:
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table from glob to codes, not {_kind(value)}")
        return tuple(
            (Patterns(self.path.parent, (glob,)), self.selectors(glob, codes))
            for glob, codes in value.items()
        )

    def exclude(self, key: str, value: object) -> tuple[Patterns, ...]:
        globs = self.strings(key, value)
        return (Patterns(self.path.parent, globs),) if globs else ()

    def file(self, key: str, value: object) -> Path:
        return Path(os.path.abspath(self.path.parent / self.string(key, value)))


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
}


def _suggest(key: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(key.replace("_", "-").lower(), known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known keys are {', '.join(known)}"


def _kind(value: object) -> str:
    """The TOML name of a value's type, with its article."""
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
    names |= {list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
