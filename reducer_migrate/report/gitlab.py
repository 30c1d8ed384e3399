"""GitLab's code quality report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.report.model import Fixes, fingerprints, shown_path
from reducer_rules import Severity

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(diagnostics: Sequence[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    issues = [
        {
            "description": f"{diagnostic.code}: {diagnostic.message}",
            "check_name": f"{diagnostic.code} {diagnostic.name}",
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[diagnostic.severity],
            "location": {
                "path": shown_path(diagnostic.path),
                "lines": {"begin": diagnostic.file_start.line, "end": diagnostic.file_end.line},
            },
        }
        for diagnostic, fingerprint in zip(diagnostics, fingerprints(diagnostics), strict=True)
    ]
    out.write(json.dumps(issues, indent=2) + "\n")
