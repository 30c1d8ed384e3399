"""A JSON array with one object a finding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.report.model import Fixes, fingerprints, offer_of


def render(diagnostics: Sequence[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    findings = [
        {**finding(diagnostic, fixes), "fingerprint": fingerprint}
        for diagnostic, fingerprint in zip(diagnostics, fingerprints(diagnostics), strict=True)
    ]
    out.write(json.dumps(findings, indent=2) + "\n")


def finding(diagnostic: Diagnostic, fixes: Fixes) -> dict[str, Any]:
    """One finding as JSON values, without its fingerprint."""
    cell = {} if diagnostic.cell is None else {"cell": diagnostic.cell.number}
    return {
        "path": diagnostic.path,
        **cell,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "location": _location(diagnostic.start),
        "end_location": _location(diagnostic.end),
        "reducer": diagnostic.reducer or None,
        "fix": _fix(diagnostic, fixes),
    }


def _fix(diagnostic: Diagnostic, fixes: Fixes) -> dict[str, Any] | None:
    offer = offer_of(diagnostic, fixes)
    if offer is None:
        return None
    return {
        "applicability": offer.group.fix.value,
        "group": offer.group.ident,
        "edits": [
            {
                "location": _location(edit.start),
                "end_location": _location(edit.end),
                "content": edit.text,
            }
            for edit in offer.replacements
        ],
    }


def _location(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
