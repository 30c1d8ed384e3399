"""Which TileLang release a file is judged against, and where that is written.

In this order: the command line, `[tool.reducer-migrate] tilelang`, the pin of the project that
holds the file, the installed release, and else any release.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

from reducer_migrate.pins import pin_of
from reducer_rules.release import NATIVE_V2, TESTED, Release

_SPELLING = re.compile(
    r"v?\d+(\.\d+)*((a|b|rc)\d+|\.?(post|dev)\d*)*(\+[a-z0-9.]+)?", re.IGNORECASE
)


class Resolved(NamedTuple):
    """A release, None for "any", and the place that names it, as `requirements.txt:3`."""

    release: Release | None
    source: str

    def __str__(self) -> str:
        if self.release is None:
            return f"any TileLang release ({self.source})"
        return f"TileLang {self.release} ({self.source})"


class Releases:
    """Resolves the release of each file; projects are read once.

    `problems` collects what could not be read on the way, for the summary, and which releases
    nobody tested.
    """

    def __init__(self, explicit: str | None = None) -> None:
        """Take the value of `--tilelang`.

        Raises:
            ValueError: it is neither a release number nor `any`.
        """
        self.problems: list[str] = []
        self._projects: dict[str, Resolved | None] = {}
        self._installed: Resolved | None = None
        self._met: set[Resolved] = set()
        self._explicit = None if explicit is None else resolve(explicit)

    def of(self, path: str, configured: Resolved | None = None) -> Resolved:
        """The release for the file at `path`, whose configuration names `configured`."""
        found = self._of(path, configured)
        if found not in self._met:
            self._met.add(found)
            self.problems += filter(None, [untested(found)])
        return found

    def _of(self, path: str, configured: Resolved | None) -> Resolved:
        if self._explicit is not None:
            return self._explicit
        if configured is not None:
            return configured
        directory = os.path.dirname(os.path.abspath(path))
        return self._project(directory) or self._from_environment()

    def _project(self, directory: str) -> Resolved | None:
        if directory not in self._projects:
            self._projects[directory] = self._read(directory)
        return self._projects[directory]

    def _read(self, directory: str) -> Resolved | None:
        if pin := pin_of(directory, self.problems):
            path = os.path.relpath(os.path.join(directory, pin.file))
            return Resolved(pin.release, f"{path}:{pin.line}")
        parent = os.path.dirname(directory)
        if parent == directory or os.path.lexists(os.path.join(directory, ".git")):
            return None
        return self._project(parent)

    def _from_environment(self) -> Resolved:
        if self._installed is None:
            self._installed = _installed()
        return self._installed


def resolve(text: str, source: str = "--tilelang") -> Resolved:
    """The release that `text` names at the place `source`.

    Raises:
        ValueError: it is neither a release number nor `any`.
    """
    if text == "any":
        return Resolved(None, source)
    if not _SPELLING.fullmatch(text):
        raise ValueError(f"not a TileLang release: {text!r} (expected for example 0.1.13, or any)")
    return Resolved(Release.parse(text), source)


def untested(resolved: Resolved) -> str | None:
    """What to say of a release that nobody tested; None for the others, and for any."""
    release = resolved.release
    if release is None or release in TESTED:
        return None
    has = "v2 reducers" if release >= NATIVE_V2 else "no v2 reducers"
    return (
        f"{resolved} is no tested release (these are {TESTED[0]} to {TESTED[-1]}): it is taken to "
        f"have {has}, and what it computes wrongly (RM3xx) is not known"
    )


def _installed() -> Resolved:
    for place in sys.path:
        for name in _names_in(place or os.curdir):
            match = _METADATA.match(name)
            if match is not None:
                return Resolved(Release.parse(match.group(1)), "installed")
    return Resolved(None, "none is pinned or installed")


#: The folder that names an installed release. `importlib.metadata` would find it too, and takes as
#: long to import as a whole check does.
_METADATA = re.compile(
    r"tilelang-(\d+(?:\.\w+)*?(?:\+[\w.]+?)?)(?:-py[\d.]+)?\.(?:dist|egg)-info\Z", re.IGNORECASE
)


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
