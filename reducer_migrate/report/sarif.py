"""SARIF 2.1.0, with the rules' help and each reducer's rewrite as one fix."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from reducer_migrate import __version__
from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.documentation import Entry, find, markdown
from reducer_migrate.report.model import (
    Fixes,
    Offer,
    fingerprints,
    offer_of,
    shown_path,
)

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def render(diagnostics: Sequence[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    results = [
        _result(diagnostic, codes.index(diagnostic.code), fingerprint, fixes)
        for diagnostic, fingerprint in zip(diagnostics, fingerprints(diagnostics), strict=True)
    ]
    driver = {
        "name": "reducer-migrate",
        "version": __version__,
        "rules": [_rule(find(code)) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(json.dumps(document, indent=2) + "\n")


def _rule(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.code,
        "name": "".join(part.capitalize() for part in entry.name.split("-")),
        "shortDescription": {"text": entry.summary},
        "fullDescription": {"text": " ".join(entry.explanation.split())},
        "help": {"text": entry.help, "markdown": markdown(entry)},
        "defaultConfiguration": {"level": entry.severity.value},
        "properties": {"tags": ["tilelang", "reducer"], "fix": entry.fix.value},
    }


def _result(diagnostic: Diagnostic, index: int, fingerprint: str, fixes: Fixes) -> dict[str, Any]:
    location = {
        "artifactLocation": _artifact(diagnostic.path),
        "region": _region(diagnostic.file_start, diagnostic.file_end),
    }
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": diagnostic.severity.value,
        "message": {"text": f"{diagnostic.message}\nhelp: {diagnostic.help}"},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"findingHash/v1": fingerprint},
    }
    offer = offer_of(diagnostic, fixes)
    if offer is not None:
        result["fixes"] = [_fix(diagnostic, offer)]
    return result


def _fix(diagnostic: Diagnostic, offer: Offer) -> dict[str, Any]:
    """The whole group: applying a part of it would leave half a conversion."""
    change = {
        "artifactLocation": _artifact(diagnostic.path),
        "replacements": [
            {
                "deletedRegion": _region(edit.start, edit.end),
                "insertedContent": {"text": edit.text},
            }
            for edit in offer.replacements
        ],
    }
    return {
        "description": {"text": f"Rewrite every statement of reducer {offer.group.reducer!r}"},
        "artifactChanges": [change],
        "properties": {"applicability": offer.group.fix.value},
    }


def _artifact(path: str) -> dict[str, Any]:
    """A location relative to the working directory, which the consumer knows as its source root."""
    shown = shown_path(path)
    if os.path.isabs(shown):
        return {"uri": Path(shown).as_uri()}
    return {"uri": quote(os.fsencode(shown)), "uriBaseId": "%SRCROOT%"}


def _region(start: Position, end: Position) -> dict[str, int]:
    return {
        "startLine": max(1, start.line),
        "startColumn": max(1, start.column),
        "endLine": max(1, end.line, start.line),
        "endColumn": max(1, end.column),
    }
