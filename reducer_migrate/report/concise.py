"""One line a finding: `path:line:column: CODE [*] message`, `[*]` where a safe fix is offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.report.model import Fixes
from reducer_rules import Fix


def render(diagnostics: Sequence[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    for diagnostic in diagnostics:
        mark = " [*]" if diagnostic.fix is Fix.SAFE else ""
        message = " ".join(diagnostic.message.split())
        place = f"{diagnostic.path}:{diagnostic.place}"
        out.write(f"{place}: {diagnostic.code}{mark} {message}\n")
