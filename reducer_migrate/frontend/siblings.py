"""Other modules of the project, read (never run) where a name is imported from them."""

from __future__ import annotations

import os
from functools import lru_cache

from reducer_migrate.frontend.scopes import Scope, make_scope
from reducer_migrate.parsing import UnparsableError, parse
from reducer_migrate.source import Source, UndecodableError

#: How far up from a file the root of its imports is looked for.
_LEVELS = 8
_LARGEST = 1 << 20


def sibling(path: str, module: str) -> Scope | None:
    """The scope of the module that a file at `path` imports as `module`.

    None where the file has no path, or that is no readable module of the same project.
    """
    if not path or not module:
        return None
    found = _located(os.path.dirname(os.path.abspath(path)), module)
    try:
        return None if found is None else _scope(found, os.stat(found).st_mtime_ns)
    except OSError:
        return None


def source_of(path: str) -> Source | None:
    """The text of a module that `sibling` gave."""
    try:
        return _source(path, os.stat(path).st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _located(directory: str, module: str) -> str | None:
    """The file of a module: one of a package above `directory`, or beside one of these."""
    name = module.lstrip(".")
    parts = name.split(".") if name else []
    dots = len(module) - len(name)
    levels = 1 if dots else _LEVELS
    for _ in range(dots - 1):
        directory = os.path.dirname(directory)
    for _ in range(levels):
        place = os.path.join(directory, *parts)
        for candidate in (f"{place}.py", os.path.join(place, "__init__.py")):
            if os.path.isfile(candidate):
                return candidate
        if os.path.lexists(os.path.join(directory, ".git")):
            return None
        directory = os.path.dirname(directory)
    return None


@lru_cache(maxsize=256)
def _scope(path: str, modified: int) -> Scope | None:
    """The scope of a file; `modified` tells one state of it from another."""
    source = _source(path, modified)
    try:
        return None if source is None else make_scope(parse(source), None, path)
    except UnparsableError:
        return None


@lru_cache(maxsize=256)
def _source(path: str, modified: int) -> Source | None:
    with open(path, "rb") as file:
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        return None
    try:
        return Source.read(path, raw)
    except UndecodableError:
        return None
