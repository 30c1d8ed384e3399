"""Findings as text."""

from __future__ import annotations

import unicodedata

import pytest

from reducer_migrate.diagnostic import Diagnostic, Position
from reducer_migrate.report.render import ansi, printable, render
from reducer_rules import Severity


def _finding(line: str, start: int, end: int, *, last: int = 7, label: str = "") -> Diagnostic:
    return Diagnostic(
        "kernels/a.py",
        "RM203",
        "finalize-in-parallel",
        Severity.ERROR,
        "finalize inside T.Parallel",
        "move it behind the loop",
        Position(7, start),
        Position(last, end),
        source_line=line,
        label=label,
    )


def test_the_whole_of_a_finding() -> None:
    text = render(_finding("    T.finalize_reducer(acc)", 5, 28, label="here"))
    assert text == (
        "kernels/a.py:7:5: error[RM203]: finalize inside T.Parallel\n"
        "  |\n"
        "7 |     T.finalize_reducer(acc)\n"
        "  |     ^^^^^^^^^^^^^^^^^^^^^^^ here\n"
        "  = help: move it behind the loop\n"
    )


def test_colour_is_added_and_changes_nothing_else() -> None:
    import re

    finding = _finding("    T.finalize_reducer(acc)", 5, 28, label="here")
    coloured = render(finding, ansi)
    assert "\x1b[1;31merror[RM203]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render(finding)


def _columns(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("\tT.clear(acc)", "T.clear(acc)"),
        ("  \tx = 1;\tT.clear(acc)", "T.clear(acc)"),
        ('s = "和漢"; T.clear(acc)', "T.clear(acc)"),
        ("s = '和'; T.clear(和)", "T.clear(和)"),
        ("e\u0301 = T.clear(acc)", "T.clear(acc)"),
    ],
)
def test_the_underline_is_below_what_it_marks(line: str, target: str) -> None:
    start = line.index(target) + 1
    shown = render(_finding(line, start, start + len(target))).split("\n")
    source, carets = shown[2], shown[3]
    assert _columns(source[: source.index(target)]) == carets.index("^")
    assert carets.count("^") == _columns(target)


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    shown = render(_finding("acc = T.alloc_reducer(", 7, 2, last=9))
    assert shown.split("\n")[3] == "  |       ^^^^^^^^^^^^^^^^"


def test_an_empty_span_gets_one_caret() -> None:
    assert render(_finding("x = 1", 3, 3)).split("\n")[3] == "  |   ^"


def test_a_very_long_line_is_cut_around_the_finding() -> None:
    line = "a" * 5000 + "T.clear(acc)" + "b" * 5000
    shown = render(_finding(line, 5001, 5013)).split("\n")
    source, carets = shown[2], shown[3]
    assert len(source) < 200
    assert source[carets.index("^") :].startswith("T.clear(acc)")
    assert carets.count("^") == 12


def test_nothing_reaches_the_terminal_as_a_command() -> None:
    shown = render(_finding('s = "\x1b[31m\u202e" + x', 1, 2))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_odd_paths_are_escaped() -> None:
    assert printable("a\udcffb\n.py") == "a\\xffb\\x0a.py"
    assert printable("核.py") == "核.py"
