"""A reducer of which a finding stays silent is left alone as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lint_samples import ANALYSIS, FINDINGS, SOURCE, TEXT

from reducer_migrate.baseline import Baseline, dump
from reducer_migrate.selection import Selection
from reducer_migrate.source import Source
from reducer_migrate.triage import Triage, triage
from reducer_rules import Fix

EVERYTHING = Selection()


def outline(result):
    return (
        [(d.code, d.reducer, d.group, d.fix) for d in result.analysis.diagnostics],
        [group.reducer for group in result.analysis.groups],
    )


def test_without_comments_and_selectors_everything_stays():
    result = triage(SOURCE, ANALYSIS, EVERYTHING)
    assert outline(result) == outline(Triage(ANALYSIS))
    assert (result.suppressed, result.ignored, result.baselined) == ((), (), ())


LEFT_ALONE = (
    [
        ("RM101", "acc", None, Fix.NONE),
        ("RM103", "acc", None, Fix.NONE),
        ("RM103", "best", 2, Fix.UNSAFE),
        ("RM901", "", None, Fix.NONE),
    ],
    ["best"],
)


def test_suppressing_one_statement_withholds_the_rewrite_of_its_reducer():
    text = TEXT.replace("+= A[i]", "+= A[i]  # reducer: noqa[RM104]")
    result = triage(Source.of(text, SOURCE.path), ANALYSIS, EVERYTHING)
    assert outline(result) == LEFT_ALONE
    assert result.suppressed == (FINDINGS[2],)


def test_ignoring_one_code_withholds_the_rewrite_of_its_reducers():
    result = triage(SOURCE, ANALYSIS, Selection.of(ignore=["RM104"]))
    assert outline(result) == LEFT_ALONE
    assert result.ignored == (FINDINGS[2],)


def test_baselining_one_statement_withholds_the_rewrite_of_its_reducer(tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(dump(path, [FINDINGS[2]]))
    result = triage(SOURCE, ANALYSIS, EVERYTHING, Baseline.load(path))
    assert outline(result) == LEFT_ALONE
    assert result.baselined == (FINDINGS[2],)


def test_a_problem_of_a_comment_is_reported_in_order_and_can_be_ignored():
    text = TEXT.replace('"max")', '"max")  # reducer: noqa[RM103]')
    source = Source.of(text, SOURCE.path)
    result = triage(source, ANALYSIS, EVERYTHING)
    assert [(d.code, d.start.line) for d in result.analysis.diagnostics] == [
        ("RM101", 2),
        ("RM103", 3),
        ("RM104", 5),
        ("RM901", 6),
        ("RM103", 7),
        ("RM901", 11),
    ]
    ignoring = triage(source, ANALYSIS, Selection.of(ignore=["unused-suppression"]))
    assert [d.start.line for d in ignoring.ignored] == [6, 11]


def test_a_suppression_counts_as_used_though_its_code_is_not_selected():
    text = TEXT.replace("T.clear(acc)", "T.clear(acc)  # reducer: noqa[RM103]")
    result = triage(Source.of(text, SOURCE.path), ANALYSIS, Selection.of(select=["RM9"]))
    assert [d.start.line for d in result.analysis.diagnostics] == [11]
    assert result.analysis.groups == ()


@pytest.mark.parametrize("silent", range(4))
def test_no_group_is_ever_half_applied(silent):
    """Whichever single finding stays silent, its group goes as a whole and the others stay."""
    findings = tuple(
        replace(d, code="RM201") if index == silent else d for index, d in enumerate(FINDINGS)
    )
    analysis = replace(ANALYSIS, diagnostics=findings)
    result = triage(SOURCE, analysis, Selection.of(ignore=["RM2"]))
    offered = {group.ident for group in result.analysis.groups}
    assert offered == {1, 2} - {FINDINGS[silent].group}
    assert {d.group for d in result.analysis.diagnostics} - {None} == offered
