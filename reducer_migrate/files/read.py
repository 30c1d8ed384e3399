"""Reading: the whole of a file that names a reducer operation, a moment of every other."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from reducer_migrate.names import LONGEST, names_reducer

_CHUNK = 1 << 20
_BINARY: int = getattr(os, "O_BINARY", 0)


class Content(NamedTuple):
    """The bytes of a file, and the identity that all its names share."""

    raw: bytes
    identity: tuple[int, int]


class NotRegularError(OSError):
    """A device, a pipe or a socket: reading it might never end."""


def read_candidate(path: str) -> Content | None:
    """The content of a file that names a reducer operation, None for any other file.

    A file without one is searched in pieces of 1 MiB, so memory does not grow with it.

    Raises:
        OSError: the file cannot be read, or is not a regular file (`NotRegularError`).
    """
    descriptor = os.open(path, os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0))
    try:
        _require_regular(descriptor, path)
        raw = os.read(descriptor, _CHUNK)
        if len(raw) < _CHUNK:
            raw += _rest(descriptor)
            return _content(descriptor, raw) if names_reducer(raw) else None
        if not names_reducer(raw) and not _found_later(descriptor, raw[-LONGEST:]):
            return None
        os.lseek(descriptor, 0, os.SEEK_SET)
        return _content(descriptor, _rest(descriptor))
    finally:
        os.close(descriptor)


def _require_regular(descriptor: int, path: str) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a directory", path)
    if not stat.S_ISREG(mode):
        raise NotRegularError(errno.EINVAL, "it is not a regular file", path)


def _rest(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def _found_later(descriptor: int, tail: bytes) -> bool:
    while part := os.read(descriptor, _CHUNK):
        if names_reducer(tail + part):
            return True
        tail = (tail + part)[-LONGEST:]
    return False


def _content(descriptor: int, raw: bytes) -> Content:
    status = os.fstat(descriptor)
    return Content(raw, (status.st_dev, status.st_ino))
