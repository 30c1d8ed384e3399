"""Replacing the content of a file so that a kill at any moment leaves it old or new."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from reducer_migrate.files.backup import backup_of

_BINARY: int = getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | getattr(os, "O_NOFOLLOW", 0)


class ChangedError(OSError):
    """The file no longer holds what was read from it."""


class ReadOnlyError(PermissionError):
    """The file is marked read-only, whoever may ask."""


def replace_content(path: str, old: bytes, new: bytes) -> None:
    """Make `new` the content of `path`, which held `old` when it was read.

    A symlink stays one: its target changes. Mode, ownership and extended attributes are kept.
    A file with several names, or whose owner could not be given to a new file, is written in
    place over a synced backup; every other one is replaced by a synced temporary file.

    Raises:
        OSError: the file or its directory cannot be written; the content is then `old`.
        ChangedError: something else changed the file since it was read.
        ReadOnlyError: the file has no write permission for anyone.
    """
    target = os.path.realpath(path)
    status = os.stat(target)
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise ReadOnlyError(errno.EROFS, "it is read-only", path)
    if _read(target) != old:
        raise ChangedError(errno.EAGAIN, "it changed while it was being rewritten", path)
    if status.st_nlink > 1 or not _replace(target, status, new):
        _overwrite(target, old, new)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _replace(target: str, status: os.stat_result, new: bytes) -> bool:
    """Put a new file in place of the old one; False where it could not get the same owner."""
    temporary = _temporary(target)
    try:
        descriptor = os.open(temporary, _CREATE, 0o600)
        try:
            _write(descriptor, new)
            if not _same_owner(descriptor, status):
                os.unlink(temporary)
                return False
            _copy_attributes(target, descriptor)
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        _remove(temporary)
        raise
    _sync_directory(target)
    return True


def _overwrite(target: str, old: bytes, new: bytes) -> None:
    """Write in place. A kill on the way leaves the backup, which the next run reports."""
    backup = backup_of(target)
    _create(backup, old, os.stat(target))
    try:
        descriptor = os.open(target, os.O_WRONLY | _BINARY)
        try:
            _fill(descriptor, old, new)
        finally:
            os.close(descriptor)
    except BaseException:
        if _read(target) == old:
            _remove(backup)
        raise
    os.unlink(backup)
    _sync_directory(target)


def _fill(descriptor: int, old: bytes, new: bytes) -> None:
    try:
        _rewrite(descriptor, new)
    except BaseException:
        _rewrite(descriptor, old)
        raise


def _rewrite(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write(descriptor, content)
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


def _create(path: str, content: bytes, status: os.stat_result) -> None:
    """Create a file that has its name only once it is complete.

    Raises:
        FileExistsError: a backup of an interrupted run lies there; it is not touched.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, f"a backup is in the way: {path}", path)
    temporary = _temporary(path)
    try:
        descriptor = os.open(temporary, _CREATE, stat.S_IMODE(status.st_mode) & 0o700)
        try:
            _write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    _sync_directory(path)


def _temporary(path: str) -> str:
    """A fresh name in the same directory, hence on the same file system."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name[:200].lstrip('.')}.{os.urandom(6).hex()}.tmp")


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _same_owner(descriptor: int, status: os.stat_result) -> bool:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) == (status.st_uid, status.st_gid):
        return True
    try:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    except OSError:
        return False
    return True


def _copy_attributes(target: str, descriptor: int) -> None:
    """Extended attributes, access control lists among them, as far as the system lets us."""
    if not hasattr(os, "listxattr"):
        return
    try:
        names = os.listxattr(target)
    except OSError:
        return
    for name in names:
        try:
            os.setxattr(descriptor, name, os.getxattr(target, name))
        except OSError:
            continue


def _sync_directory(path: str) -> None:
    """Make a rename durable. Not every system can; the content is safe either way."""
    try:
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
