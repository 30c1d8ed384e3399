"""What the user asked for, as one value that the parts of a run read."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Mode(Enum):
    """What becomes of a rewrite."""

    WRITE = "write"
    CHECK = "check"
    DIFF = "diff"


class Settings(NamedTuple):
    """The options of one run.

    `dialect` is the v2 spelling that was asked for by name, `tilelang` the release, None where
    it is to be found out.
    """

    mode: Mode = Mode.WRITE
    dialect: str | None = None
    tilelang: str | None = None
    with_compat: bool = False
    unsafe_fixes: bool = False
    strict: bool = False
    quiet: bool = False
    debug: bool = False
