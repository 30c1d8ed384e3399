"""The pin of a project: the statement in its files that narrows TileLang down."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from reducer_rules.release import TESTED, Release

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_LOCKED = re.compile(r'^name = "tilelang"\r?\nversion = "([^"]+)"', re.MULTILINE)


class Pin(NamedTuple):
    """One statement of a project about the TileLang it runs on; `line` counts from 1."""

    release: Release
    file: str
    line: int


def pin_of(directory: str, problems: list[str]) -> Pin | None:
    """The first statement of the project in `directory` that narrows TileLang down.

    What cannot be read on the way is added to `problems`.
    """
    pyproject = _load(os.path.join(directory, "pyproject.toml"), problems)
    if pyproject is not None:
        for group in _requirement_groups(pyproject):
            if pins := list(_pins_in_toml(pyproject, group)):
                return _lowest(pins)
    return _pin_of_files(directory)


class _Toml(NamedTuple):
    name: str
    text: str
    data: dict[str, Any]

    def line(self, fragment: str) -> int:
        """The first line that holds `fragment`; 1 where escapes hide it."""
        position = self.text.find(fragment)
        return self.text.count("\n", 0, position) + 1 if position >= 0 else 1

    def key_line(self, key: str) -> int:
        """The first line that assigns `key`."""
        match = re.search(rf'^[ \t]*"?{key}"?[ \t]*=', self.text, re.MULTILINE)
        return self.text.count("\n", 0, match.start()) + 1 if match else 1


def _load(path: str, problems: list[str]) -> _Toml | None:
    text = _text(path)
    if text is None:
        return None
    try:
        return _Toml(os.path.basename(path), text, tomllib.loads(text))
    except ValueError as error:
        problems.append(f"{os.path.relpath(path)}: not valid TOML, ignored: {error}")
        return None


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _at(toml: _Toml | None, *keys: str) -> Any:
    value: Any = toml.data if toml else None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _requirement_groups(toml: _Toml) -> Iterator[list[str]]:
    """What is always installed, then what is optional, then poetry's own table."""
    yield _strings(_at(toml, "project", "dependencies"))
    for key in (("project", "optional-dependencies"), ("dependency-groups",)):
        table = _at(toml, *key)
        groups = table.values() if isinstance(table, dict) else ()
        yield [text for group in groups for text in _strings(group)]
    yield list(_poetry(toml))


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _poetry(toml: _Toml) -> Iterator[str]:
    poetry = _at(toml, "tool", "poetry")
    tables = [poetry.get("dependencies")] if isinstance(poetry, dict) else []
    groups = poetry.get("group") if isinstance(poetry, dict) else None
    for group in groups.values() if isinstance(groups, dict) else ():
        tables.append(group.get("dependencies") if isinstance(group, dict) else None)
    for table in tables:
        value = table.get("tilelang") if isinstance(table, dict) else None
        value = value.get("version") if isinstance(value, dict) else value
        if isinstance(value, str):
            yield f"tilelang{_poetry_specifier(value)}"


def _poetry_specifier(value: str) -> str:
    """Poetry's `^0.1.10`, `~0.1.10` and `0.1.10` in the spelling of PEP 440."""
    match = re.fullmatch(r"\s*([\^~]?)\s*(\d+)(?:\.(\d+))?([\w.+]*)\s*", value)
    if match is None:
        return value
    operator, major, minor, _ = match.groups()
    number = value.strip().lstrip("^~").strip()
    if not operator:
        return f"=={number}"
    upper = (
        f"{int(major)}.{int(minor) + 1}" if minor and _keeps_minor(match) else f"{int(major) + 1}"
    )
    return f">={number},<{upper}"


def _keeps_minor(match: re.Match[str]) -> bool:
    return match.group(1) == "~" or match.group(2) == "0"


def _pins_in_toml(toml: _Toml, requirements: Iterable[str]) -> Iterator[Pin]:
    for text in requirements:
        release = _release_of(text)
        if release is not None:
            line = toml.line(text) if text in toml.text else toml.key_line("tilelang")
            yield Pin(release, toml.name, line)


def _lowest(pins: Iterable[Pin]) -> Pin | None:
    return min(pins, key=lambda pin: pin.release, default=None)


def _pin_of_files(directory: str) -> Pin | None:
    """Requirements files, then constraints, then the lock files."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return None
    for prefix in ("requirements", "constraints"):
        files = [name for name in names if name.startswith(prefix) and name.endswith(".txt")]
        if prefix in names:
            files += _folder(directory, prefix)
        if pin := _lowest(pin for name in files for pin in _pins_in_text(directory, name)):
            return pin
    for name in ("uv.lock", "poetry.lock"):
        if name in names and (pin := _locked(directory, name)):
            return pin
    return None


def _folder(directory: str, name: str) -> list[str]:
    path = os.path.join(directory, name)
    if not os.path.isdir(path):
        return []
    return [os.path.join(name, file) for file in sorted(os.listdir(path)) if file.endswith(".txt")]


def _pins_in_text(directory: str, name: str) -> Iterator[Pin]:
    """The pins of a requirements file; a backslash joins lines, options end a requirement."""
    number, joined, first = 0, "", 0
    for number, line in enumerate((_text(os.path.join(directory, name)) or "").split("\n"), 1):
        first = first or number
        joined += line.rstrip("\r").removesuffix("\\")
        if line.rstrip("\r").endswith("\\"):
            continue
        text = re.split(r"(?:^|\s)#|\s--", joined)[0].strip()
        release = _release_of(text) if "tilelang" in text.lower() else None
        if release is not None:
            yield Pin(release, name, first)
        joined, first = "", 0


def _locked(directory: str, name: str) -> Pin | None:
    text = _text(os.path.join(directory, name)) or ""
    match = _LOCKED.search(text)
    if match is None:
        return None
    return Pin(Release.parse(match.group(1)), name, text.count("\n", 0, match.start(1)) + 1)


def _release_of(text: str) -> Release | None:
    """The release that a requirement on tilelang stands for: the lowest that it allows.

    None where it is about something else, or allows every release.
    """
    if "tilelang" not in text.lower():
        return None
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    if requirement.name.lower() != "tilelang":
        return None
    if requirement.url is not None:
        match = re.search(r"tilelang-(\d[\w.]*)", requirement.url)
        return Release.parse(match.group(1)) if match else None
    return _lowest_in(requirement.specifier)


def _lowest_in(specifiers: SpecifierSet) -> Release | None:
    for specifier in specifiers:
        if specifier.operator in ("==", "===") and "*" not in specifier.version:
            return Release.parse(specifier.version)
    if not len(specifiers):
        return None
    for release in TESTED:
        if specifiers.contains(str(release)):
            return release
    return _bound(specifiers)


def _bound(specifiers: SpecifierSet) -> Release | None:
    """What a range without a tested release stands for: the bound it names."""
    for specifier in specifiers:
        if specifier.operator in (">=", ">", "~=", "<=", "=="):
            return Release.parse(specifier.version.removesuffix(".*"))
        if specifier.operator == "<":
            return Release.parse(f"{specifier.version}.dev0")
    return None
