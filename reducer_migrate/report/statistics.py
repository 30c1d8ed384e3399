"""How often each code was found, the most frequent first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from reducer_migrate.diagnostic import Diagnostic


def render(diagnostics: Iterable[Diagnostic], out: TextIO, *, as_json: bool = False) -> None:
    """Write one line (or JSON object) for each code and severity."""
    found = Counter((d.code, d.name, d.severity.value) for d in diagnostics)
    rows = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    if as_json:
        document = [
            {"code": code, "name": name, "severity": severity, "count": count}
            for (code, name, severity), count in rows
        ]
        out.write(json.dumps(document, indent=2) + "\n")
        return
    width = max((len(str(count)) for _, count in rows), default=0)
    for (code, name, severity), count in rows:
        out.write(f"{count:{width}}  {code}  {severity:7}  {name}\n")
