"""One finding as text: the place, the message, the source line with its underline, the help.

kernel.py:12:9: error[RM203]: the finalize is inside a T.Parallel loop
   |
12 |         T.finalize_reducer(acc)
   |         ^^^^^^^^^^^^^^^^^^^^^^^ here
   = help: move it behind the loop
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from reducer_migrate.diagnostic import Diagnostic

_TAB = 4
_WIDEST = 160
_CONTEXT = 40
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

#: Styles a piece of text by the name of its role.
Style = Callable[[str, str], str]


def plain(role: str, text: str) -> str:
    """The style of files and pipes: none."""
    return text


_ANSI = {
    "path": "1",
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "frame": "1;34",
    "help": "1;32",
}


def ansi(role: str, text: str) -> str:
    """The style of terminals."""
    return f"\x1b[{_ANSI[role]}m{text}\x1b[0m" if text else text


def render(diagnostic: Diagnostic, style: Style = plain) -> str:
    """The lines of one finding, each with its line end."""
    role = diagnostic.severity.value
    start = diagnostic.start
    place = style("path", f"{printable(diagnostic.path)}:{diagnostic.place}:")
    head = f"{place} {style(role, f'{role}[{diagnostic.code}]')}: {_clean(diagnostic.message)}"
    margin = " " * len(str(start.line))
    lines = [head]
    if diagnostic.source_line.strip():
        lines += _excerpt(diagnostic, margin, style)
    if diagnostic.help:
        lines.append(
            f"{margin} {style('frame', '=')} {style('help', 'help')}: {_clean(diagnostic.help)}"
        )
    return "\n".join(lines) + "\n"


def _excerpt(diagnostic: Diagnostic, margin: str, style: Style) -> list[str]:
    """The source line and the underline, of the same width on a terminal."""
    line, first = diagnostic.source_line, diagnostic.start.column - 1
    last = len(line) if diagnostic.end.line > diagnostic.start.line else diagnostic.end.column - 1
    line, first, last = _crop(line, first, max(last, first + 1))
    before, marked = _display(line[:first]), _display(line[:last])
    caret = "^" * max(1, _width(marked) - _width(before))
    label = f"{caret} {_clean(diagnostic.label)}" if diagnostic.label else caret
    role = diagnostic.severity.value
    bar = style("frame", "|")
    return [
        f"{margin} {bar}",
        f"{style('frame', str(diagnostic.start.line))} {bar} {_display(line)}",
        f"{margin} {bar} {' ' * _width(before)}{style(role, label)}",
    ]


def _crop(line: str, first: int, last: int) -> tuple[str, int, int]:
    """The part of a very long line around the finding."""
    if len(line) <= _WIDEST:
        return line, first, last
    begin = max(0, min(first, len(line)) - _CONTEXT)
    end = begin + _WIDEST
    lead = "..." if begin else ""
    tail = "..." if end < len(line) else ""
    shift = len(lead) - begin
    return lead + line[begin:end] + tail, first + shift, min(last, end) + shift


def _display(text: str) -> str:
    """Text as it is printed: tabs to the stops, nothing a terminal would act on."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.expandtabs(_TAB))


def _clean(text: str) -> str:
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def _width(text: str) -> int:
    """The columns that a terminal gives to `text`."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def printable(path: str) -> str:
    """A path as text that every stream can hold: odd bytes and control characters escaped."""
    escaped = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        character if character.isprintable() else f"\\x{ord(character):02x}"
        for character in escaped
    )
