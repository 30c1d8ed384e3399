"""Globs relative to a directory, with the meaning they have in `.gitignore`."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from reducer_migrate.files.ignore import Patterns


class Globs(NamedTuple):
    """Globs that are relative to `base`: to the file that holds them, or the working directory."""

    base: str
    globs: tuple[str, ...]

    def match(self, path: str) -> bool:
        """Whether a glob fits `path` or a directory above it."""
        return _compiled(self).covers(os.path.abspath(path))


@cache
def _compiled(globs: Globs) -> Patterns:
    return Patterns(globs.globs, globs.base)
