"""The files that paths on the command line stand for, in sorted order, one at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reducer_migrate.files.backup import SUFFIX
from reducer_migrate.files.ignore import Ignore, Patterns

#: Directories that hold no source of the project. Those whose name starts with a dot, and
#: virtual environments of any name, are left out as well.
LEFT_OUT = frozenset({"node_modules", "__pycache__"})


class Found(NamedTuple):
    """A file to look at: its path as it is shown to the user, and as the system takes it."""

    path: str


class Unreachable(NamedTuple):
    """A path that stands for no file that can be read, and why."""

    path: str
    error: OSError


class Leftover(NamedTuple):
    """The backup that a run left which was killed while it wrote in place."""

    path: str


class _Directory(NamedTuple):
    shown: str
    absolute: str
    ignore: Ignore | None
    suffixes: tuple[str, ...]
    named: bool = False


Item = Found | Unreachable | Leftover


def walk(
    paths: Sequence[str], exclude: Patterns, suffixes: tuple[str, ...] = (".py",)
) -> Iterator[Item]:
    """Yield the files below `paths` that end in one of `suffixes`, and what cannot be reached.

    A file that is named is yielded whatever its name, unless `exclude` covers it. Directories
    are read one at a time and symlinks to directories are not followed, except for a named one.
    """
    for path in paths:
        absolute = os.path.abspath(path)
        if exclude.covers(absolute, os.path.isdir(path)):
            continue
        if os.path.isdir(path):
            shown = _shown(path)
            ignore = _above(absolute)
            yield from _walk(_Directory(shown, absolute, ignore, suffixes, named=True), exclude)
        elif os.path.lexists(path) and not os.path.exists(path):
            yield _broken(path)
        else:
            yield Found(path)


def _shown(path: str) -> str:
    """The prefix of everything below a named directory: none for the current one."""
    prefix = path.rstrip(os.sep) or os.sep
    while prefix.startswith("." + os.sep):
        prefix = prefix[2:].lstrip(os.sep)
    if prefix in ("", "."):
        return ""
    return prefix if prefix.endswith(os.sep) else prefix + os.sep


def _walk(root: _Directory, exclude: Patterns) -> Iterator[Item]:
    pending: list[_Directory | Item] = [root]
    while pending:
        item = pending.pop()
        if not isinstance(item, _Directory):
            yield item
            continue
        try:
            pending += reversed(_entries(item, exclude))
        except OSError as error:
            yield Unreachable(item.shown.rstrip(os.sep) or os.curdir, error)


def _entries(directory: _Directory, exclude: Patterns) -> list[_Directory | Item]:
    """What one directory holds, sorted by name."""
    found: list[tuple[str, bool, OSError | None]] = []
    special = set()
    wanted = (*directory.suffixes, SUFFIX)
    with os.scandir(directory.absolute) as entries:
        for entry in entries:
            name = entry.name
            if name in (".git", ".gitignore", "pyvenv.cfg"):
                special.add(name)
            if name.endswith(wanted) or not entry.is_file(follow_symlinks=False):
                kind = _kind(entry, directory.suffixes)
                if kind is not None:
                    found.append((name, kind[0], kind[1]))
    if "pyvenv.cfg" in special and not directory.named:
        return []
    ignore = _below(directory, special)
    found.sort()
    return [
        item
        for name, is_directory, error in found
        if (item := _entry(directory, ignore, exclude, name, is_directory, error)) is not None
    ]


def _kind(entry: os.DirEntry[str], suffixes: tuple[str, ...]) -> tuple[bool, OSError | None] | None:
    """Whether an entry is a directory, and what is wrong with it; None to leave it out."""
    try:
        if entry.is_dir(follow_symlinks=False):
            left_out = entry.name.startswith(".") or entry.name in LEFT_OUT
            return None if left_out else (True, None)
        if entry.is_symlink():
            return _link_kind(entry, suffixes)
        return (False, None) if entry.is_file() else None
    except OSError as error:
        return False, error


def _link_kind(
    entry: os.DirEntry[str], suffixes: tuple[str, ...]
) -> tuple[bool, OSError | None] | None:
    """A link to a file is that file, one to a directory is not followed, a loop is an error."""
    try:
        entry.stat()
    except OSError as error:
        # Editors mark an open file by a dangling link with a name like ".#kernel.py".
        wanted = entry.name.endswith(suffixes) and not entry.name.startswith(".#")
        return (False, error) if error.errno == errno.ELOOP or wanted else None
    return (False, None) if entry.is_file() and entry.name.endswith(suffixes) else None


def _entry(
    directory: _Directory,
    ignore: Ignore | None,
    exclude: Patterns,
    name: str,
    is_directory: bool,
    error: OSError | None,
) -> _Directory | Item | None:
    absolute = os.path.join(directory.absolute, name)
    if ignore is not None and ignore.ignores(absolute, is_directory):
        return None
    if exclude.decide(absolute, is_directory):
        return None
    shown = directory.shown + name
    if error is not None:
        return Unreachable(shown, error)
    if is_directory:
        return _Directory(shown + os.sep, absolute, ignore, directory.suffixes)
    if name.endswith(SUFFIX):
        return Leftover(shown)
    return Found(shown)


def _broken(path: str) -> Unreachable:
    try:
        os.stat(path)
    except OSError as error:
        return Unreachable(path, error)
    return Unreachable(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path))


def _below(directory: _Directory, names: set[str]) -> Ignore | None:
    """The patterns that hold for the entries of a directory."""
    ignore = directory.ignore
    if ".git" in names and not directory.named:
        # A repository inside another one: the outer one says nothing about it.
        ignore = _exclude_file(directory.absolute)
    if ".gitignore" in names and not directory.named:
        ignore = _file(os.path.join(directory.absolute, ".gitignore"), directory.absolute, ignore)
    return ignore


def _above(absolute: str) -> Ignore | None:
    """The patterns of a named directory and of those above it, up to the repository's root."""
    chain = [absolute]
    while not os.path.lexists(os.path.join(chain[-1], ".git")):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:
            return _file(os.path.join(absolute, ".gitignore"), absolute, None)
        chain.append(parent)
    ignore = _exclude_file(chain[-1])
    for directory in reversed(chain):
        ignore = _file(os.path.join(directory, ".gitignore"), directory, ignore)
    return ignore


def _file(path: str, base: str, above: Ignore | None) -> Ignore | None:
    try:
        with open(path, "rb") as file:
            lines = os.fsdecode(file.read()).split("\n")
    except OSError:
        return above
    return Ignore(Patterns(lines, base), above)


def _exclude_file(root: str) -> Ignore | None:
    """The patterns of `info/exclude`, which linked worktrees share with the main one."""
    git = os.path.join(root, ".git")
    try:
        if os.path.isfile(git):
            with open(git, encoding="utf-8", errors="surrogateescape") as file:
                git = os.path.join(root, file.read().partition("gitdir:")[2].strip())
            with open(os.path.join(git, "commondir"), encoding="utf-8") as file:
                git = os.path.join(git, file.read().strip())
    except OSError:
        pass
    return _file(os.path.join(git, "info", "exclude"), root, None)
