"""JUnit XML: a suite a file, a case a finding. Only errors are failures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.report.model import Fixes, shown_path
from reducer_rules import Severity

#: Characters that XML 1.0 cannot hold, not even escaped.
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(diagnostics: Sequence[Diagnostic], fixes: Fixes, out: TextIO) -> None:
    failures = _failures(diagnostics)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    counts = f'tests="{max(1, len(diagnostics))}" failures="{failures}"'
    out.write(f'<testsuites name="reducer-migrate" {counts}>\n')
    if not diagnostics:
        # A report without a case reads as a job that never ran.
        out.write('  <testsuite name="reducer-migrate" tests="1" failures="0">\n')
        out.write('    <testcase name="no findings" classname="reducer-migrate"/>\n')
        out.write("  </testsuite>\n")
    for path, group in groupby(diagnostics, key=lambda d: d.path):
        out.writelines(f"{line}\n" for line in _suite(shown_path(path), list(group)))
    out.write("</testsuites>\n")


def _suite(path: str, diagnostics: list[Diagnostic]) -> Iterator[str]:
    counts = f'tests="{len(diagnostics)}" failures="{_failures(diagnostics)}"'
    yield f"  <testsuite name={_attribute(path)} {counts}>"
    for diagnostic in diagnostics:
        yield from _case(path, diagnostic)
    yield "  </testsuite>"


def _case(path: str, diagnostic: Diagnostic) -> Iterator[str]:
    start = diagnostic.file_start
    name = f"{diagnostic.code} {diagnostic.name} at {diagnostic.place}"
    place = f'file={_attribute(path)} line="{start.line}" column="{start.column}"'
    body = _text(f"{path}:{diagnostic.place}: {diagnostic.message}")
    body += _text(f"\nhelp: {diagnostic.help}")
    yield f"    <testcase name={_attribute(name)} classname={_attribute(path)} {place}>"
    if diagnostic.severity is Severity.ERROR:
        message = _attribute(diagnostic.message)
        yield f'      <failure type="{diagnostic.code}" message={message}>{body}</failure>'
    else:
        yield f"      <system-out>{diagnostic.severity.value}: {body}</system-out>"
    yield "    </testcase>"


def _failures(diagnostics: Sequence[Diagnostic]) -> int:
    return sum(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def _attribute(text: str) -> str:
    return quoteattr(_INVALID.sub("\ufffd", text))


def _text(text: str) -> str:
    return escape(_INVALID.sub("\ufffd", text))
