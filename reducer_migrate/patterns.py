"""Globs relative to a directory, with the meaning they have in `.gitignore`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Patterns:
    """Globs that are relative to `base`: to the file that holds them, or the working directory."""

    base: Path
    globs: tuple[str, ...]

    def match(self, path: Path) -> bool:
        """Whether a glob fits `path` or a directory above it. A path outside `base` never fits."""
        if not self.globs:
            return False
        try:
            relative = Path(os.path.abspath(path)).relative_to(self.base)
        except ValueError:
            return False
        return _spec(self.globs).match_file(relative.as_posix())


@cache
def _spec(globs: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(globs)
