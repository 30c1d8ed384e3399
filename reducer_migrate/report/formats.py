"""Findings in the formats that editors and CI systems read: one complete document a run.

A format only writes: whether files are rewritten, and the exit code, never depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TextIO

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.report.model import Fixes


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics by path, position and code: the order of every format."""
    return sorted(diagnostics, key=lambda d: (d.path, d.file_start, d.file_end, d.code, d.message))


def render(format: str, diagnostics: Iterable[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    """Write `diagnostics` to `out` as one complete document in `format`.

    That is any of `config.OUTPUT_FORMATS` but `text`: each is a module beside this one with a
    function `render(diagnostics, fixes, out)`. `fixes` holds, by path, the edits that the
    diagnostics refer to; a path without an entry has none to offer.
    """
    module = import_module(f"reducer_migrate.report.{format}")
    module.render(ordered(diagnostics), fixes, out)
