"""The name of the copy that is kept while a file is written in place."""

from __future__ import annotations

import os

#: A file with this ending is complete: it got its name after it was synced.
SUFFIX = ".reducer-migrate-backup"


def backup_of(path: str) -> str:
    """Where the copy of a file lies: beside it, under a hidden name."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}{SUFFIX}")


def original_of(path: str) -> str:
    """The file that a backup is the copy of."""
    directory, name = os.path.split(path)
    return os.path.join(directory, name[1:].removesuffix(SUFFIX))
