"""What `explain` and `rules` print."""

from __future__ import annotations

import json

from reducer_migrate.documentation import Entry, entries, find, markdown


def explain(text: str) -> str:
    """The documentation of one code or name, as Markdown.

    Raises:
        UnknownCodeError: there is none; the message names the nearest one.
    """
    return markdown(find(text))


def rule_table(output_format: str = "text") -> str:
    """Every code: aligned columns of text, or JSON with the whole documentation."""
    if output_format == "json":
        return json.dumps([_record(entry) for entry in entries()], indent=2) + "\n"
    rows = [
        (entry.code, entry.name, entry.severity.value, entry.fix.value, entry.summary)
        for entry in entries()
    ]
    rows.insert(0, ("code", "name", "severity", "fix", "summary"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _record(entry: Entry) -> dict[str, object]:
    return {
        "code": entry.code,
        "name": entry.name,
        "severity": entry.severity.value,
        "fix": entry.fix.value,
        "summary": entry.summary,
        "explanation": entry.explanation.strip(),
        "help": entry.help,
        "valid": list(entry.valid),
        "invalid": list(entry.invalid),
    }
