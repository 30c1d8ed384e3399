"""GitHub Actions workflow commands: annotations on the changed lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.report.model import Fixes, shown_path
from reducer_rules import Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(diagnostics: Sequence[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    for diagnostic in diagnostics:
        out.write(_command(diagnostic) + "\n")


def _command(diagnostic: Diagnostic) -> str:
    start, end = diagnostic.file_start, diagnostic.file_end
    properties = {
        "file": shown_path(diagnostic.path),
        "line": start.line,
        "endLine": end.line,
        "title": f"{diagnostic.code} {diagnostic.name}",
    }
    if start.line == end.line:  # GitHub takes columns for a single line only
        properties |= {"col": start.column, "endColumn": end.column}
    written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    place = f"{shown_path(diagnostic.path)}:{diagnostic.place}"
    text = f"{place}: {diagnostic.code} {diagnostic.message}\nhelp: {diagnostic.help}"
    return f"::{_COMMANDS[diagnostic.severity]} {written}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
