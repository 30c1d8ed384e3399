"""`# reducer: noqa` comments: what they cover, and what is said of those that cover nothing."""

from __future__ import annotations

import pytest
from lint_samples import finding

from reducer_migrate.diagnostic import Position
from reducer_migrate.source import Source
from reducer_migrate.suppression import suppress, suppressions


def applied(text, *found, **options):
    """Codes that remain, codes suppressed, and (code, position, message) of the problems."""
    result = suppress(Source.of(text), found, **options)
    problems = [(d.code, d.start.line, d.start.column, d.message) for d in result.problems]
    return (
        [d.code for d in result.remaining],
        [d.code for d in result.suppressed],
        problems,
    )


def at(code, line, text, statement=None):
    return finding(code, line, statement=statement, text=text)


@pytest.mark.parametrize(
    "comment",
    [
        "# reducer: noqa",
        "# reducer:noqa",
        "#reducer: noqa",
        "# REDUCER: NOQA[rm103]",
        "# reducer: noqa[RM103]",
        "# reducer: noqa[RM103, RM104]",
        "# reducer: noqa[RM104,RM103]",
        "# reducer: noqa[ RM1 ]",
        "# reducer: noqa[ALL]",
        "# reducer: noqa[clear-or-fill-opener]",
        "# reducer: noqa [RM103]",
        "# reducer: noqa[RM103",
        "# reducer: noqa: RM103",
        "# reducer: noqa: RM104, RM103 because v1 stays",
        "# type: ignore  # reducer: noqa[RM103] -- kept for the old release",
        "# reducer: noqa-file[RM103]",
    ],
)
def test_a_comment_suppresses_the_finding_on_its_line(comment):
    text = f"T.clear(acc)  {comment}\n"
    remaining, suppressed, _ = applied(text, at("RM103", 1, text))
    assert (remaining, suppressed) == ([], ["RM103"])


@pytest.mark.parametrize(
    "comment",
    [
        "# reducer: noqa[RM104]",
        "# reducer: noqa[]",
        "# reducer: noqa: RM104",
        "# noqa: RM103",
        "# reducers: noqa",
        "# reducer: noqa-files",
        "# reducer: noqable",
        "# reducer noqa",
    ],
)
def test_a_comment_that_says_something_else_suppresses_nothing(comment):
    text = f"T.clear(acc)  {comment}\n"
    remaining, suppressed, _ = applied(text, at("RM103", 1, text))
    assert (remaining, suppressed) == (["RM103"], [])


def test_strings_are_never_comments():
    text = '''\
T.clear(acc); s = "# reducer: noqa[RM103]"
s = """
# reducer: noqa
"""; T.clear(acc)
'''
    found = at("RM103", 1, text), at("RM103", 3, text, (2, 4))
    assert applied(text, *found) == (["RM103", "RM103"], [], [])


@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_a_comment_on_any_line_of_the_statement_covers_it(line):
    lines = ["T.fill(", "    acc,", "    0,", ")", "x = 1"]
    lines[line - 1] += "  # reducer: noqa[RM103]"
    text = "\n".join(lines) + "\n"
    assert applied(text, at("RM103", 1, text, (1, 4))) == ([], ["RM103"], [])


def test_a_comment_covers_no_other_statement():
    text = "T.clear(acc)\nx = 1  # reducer: noqa[RM103]\nT.clear(acc)\n"
    found = at("RM103", 1, text), at("RM103", 3, text)
    assert applied(text, *found) == (
        ["RM103", "RM103"],
        [],
        [("RM901", 2, 24, "unused suppression: nothing on this statement is reported as RM103")],
    )


def test_a_file_level_comment_covers_every_line():
    text = "# reducer: noqa-file[RM103]\nT.clear(acc)\nacc[0] += 1\nT.clear(acc)\n"
    found = at("RM103", 2, text), at("RM104", 3, text), at("RM103", 4, text)
    assert applied(text, *found) == (["RM104"], ["RM103", "RM103"], [])


def test_only_the_unused_codes_of_a_comment_are_named():
    text = "T.clear(acc)  # reducer: noqa[RM101, RM103, RM2]\n"
    assert applied(text, at("RM103", 1, text)) == (
        [],
        ["RM103"],
        [
            (
                "RM901",
                1,
                31,
                "unused suppression: nothing on this statement is reported as RM101, RM2",
            )
        ],
    )


@pytest.mark.parametrize(
    ("comment", "place"), [("noqa", "on this statement"), ("noqa-file", "in this file")]
)
def test_a_blanket_comment_that_suppresses_nothing_is_unused(comment, place):
    text = f"x = 1  # reducer: {comment}\n"
    assert applied(text) == (
        [],
        [],
        [("RM901", 1, 8, f"unused suppression: nothing {place} is reported")],
    )


def test_an_unknown_code_is_reported_where_it_stands():
    text = "T.clear(acc)  # reducer: noqa[RM103, RM1O4, F401]\n"
    assert applied(text, at("RM103", 1, text)) == (
        [],
        ["RM103"],
        [
            ("RM902", 1, 38, "unknown rule code 'RM1O4'; did you mean 'RM104'?"),
            ("RM902", 1, 45, "unknown rule code 'F401'; `reducer-migrate rules` lists every code"),
        ],
    )


def test_two_suppressions_of_one_finding_count_once():
    text = "T.fill(  # reducer: noqa[RM103]\n    acc, 0)  # reducer: noqa[RM103]\n"
    assert applied(text, at("RM103", 1, text, (1, 2))) == ([], ["RM103"], [])


def test_codes_that_depend_on_the_release_are_unused_on_any_release_only():
    text = "T.clear(acc)  # reducer: noqa[RM3]\n"
    assert applied(text, any_release=False) == ([], [], [])
    assert [problem[0] for problem in applied(text)[2]] == ["RM901"]


def test_trouble_with_the_file_is_never_suppressed():
    text = "T.clear(acc  # reducer: noqa[RM001]\n"
    assert applied(text, at("RM001", 1, text))[0] == ["RM001"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_positions_hold_for_every_line_end_and_non_ascii_text(newline):
    text = newline.join(['s = "\u00fc\U0001f600"', "\f", "\u00fc = 1  # reducer: noqa[RM103]", ""])
    (found,) = suppressions(Source.of(text))
    assert (found.start, found.end) == (Position(3, 8), Position(3, 30))
    assert found.codes is not None
    assert (found.codes[0].start, found.codes[0].end) == (Position(3, 24), Position(3, 29))


def test_a_file_that_does_not_tokenize_keeps_the_comments_before_the_error():
    text = "x = 1  # reducer: noqa\ny = (\n"
    assert [s.start.line for s in suppressions(Source.of(text))] == [1]
