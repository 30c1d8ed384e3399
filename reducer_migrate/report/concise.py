"""One line a finding: `path:line:column: CODE [*] message`, `[*]` where a safe fix is offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from reducer_rules import Fix

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.report.model import Fixes, group_of


def render(diagnostics: Sequence[Diagnostic], fixes: Mapping[str, Fixes], out: TextIO) -> None:
    for diagnostic in diagnostics:
        start = diagnostic.start
        fixable = diagnostic.fix is Fix.SAFE and group_of(diagnostic, fixes) is not None
        mark = " [*]" if fixable else ""
        message = " ".join(diagnostic.message.split())
        place = f"{diagnostic.path}:{start.line}:{start.column}"
        out.write(f"{place}: {diagnostic.code}{mark} {message}\n")
