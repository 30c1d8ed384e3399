"""What can be wrong with a file as such, rather than with a reducer in it."""

from __future__ import annotations

import errno
import os

from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.files.atomic import ChangedError, ReadOnlyError
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.source import Source
from reducer_rules.notices import (
    BROKEN_BASELINE,
    INTERNAL_ERROR,
    UNDECODABLE,
    UNPARSABLE,
    UNREADABLE,
    UNWRITABLE,
    Notice,
)


def diagnose(
    notice: Notice, path: str, message: str, *, help: str = "", line: int = 1, column: int = 1
) -> Diagnostic:
    """A diagnostic of a whole file, at its first character unless a place is given."""
    place = Position(line, column)
    return Diagnostic(
        path, notice.code, notice.name, notice.severity, message, help or notice.help, place, place
    )


def unparsable(source: Source, error: UnparsableError) -> Diagnostic:
    """The place where parsing stopped, with its line."""
    line = min(max(error.line, 1), len(source.line_starts))
    place = Position(line, max(error.column, 1))
    return Diagnostic(
        source.path,
        UNPARSABLE.code,
        UNPARSABLE.name,
        UNPARSABLE.severity,
        f"the file does not parse: {error}",
        UNPARSABLE.help,
        place,
        place,
        source_line=source.line(line),
    )


def undecodable(path: str, error: ValueError) -> Diagnostic:
    """The bytes are no text in the encoding they declare."""
    return diagnose(UNDECODABLE, path, f"the file cannot be decoded: {error}")


def unreadable(path: str, error: OSError) -> Diagnostic:
    """The path leads to nothing that can be read."""
    message, help = _READING.get(error.errno or 0, (f"{error.strerror or error}", ""))
    return diagnose(UNREADABLE, path, f"the file cannot be read: {message}", help=help)


_READING = {
    errno.ENOENT: ("it does not exist", "check the spelling, or whether it was moved meanwhile"),
    errno.ELOOP: ("it is a loop of symbolic links", "remove the link, or `--exclude` it"),
    errno.EACCES: ("permission denied", ""),
}


def unwritable(path: str, error: OSError) -> Diagnostic:
    """The edit is known and could not be stored; the file is as it was."""
    help = ""
    if isinstance(error, ReadOnlyError):
        message = "it is read-only"
    elif isinstance(error, ChangedError):
        message, help = "it changed while it was being rewritten", "run the command again"
    else:
        message = error.strerror or str(error)
    return diagnose(UNWRITABLE, path, f"the file cannot be written: {message}", help=help)


def leftover(path: str, original: str) -> Diagnostic:
    """A run was killed while it wrote a file in place."""
    if os.path.exists(original):
        help = f"compare the two; to go back: `cat '{path}' > '{original}'`, then delete the backup"
    else:
        help = "the file it belongs to is gone: rename the backup or delete it"
    message = f"an interrupted run left this backup of {original}"
    return diagnose(UNWRITABLE, path, message, help=help)


def internal(path: str, error: Exception) -> Diagnostic:
    """Something that no input should bring about."""
    return diagnose(INTERNAL_ERROR, path, f"internal error: {type(error).__name__}: {error}")


def broken_baseline(path: str, error: Exception) -> Diagnostic:
    """The baseline is no baseline; the run goes on as if there were none."""
    return diagnose(BROKEN_BASELINE, path, str(error))
