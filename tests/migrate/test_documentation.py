"""`explain` and `rules`: every code is documented once and found by code or name."""

from __future__ import annotations

import json

import pytest

from reducer_migrate.documentation import UnknownCodeError, entries, find
from reducer_migrate.listing import explain, rule_table
from reducer_migrate.source import Source
from reducer_migrate.suppression import suppress
from reducer_rules.notices import NOTICES


def test_codes_and_names_are_unique_and_in_order():
    codes = [entry.code for entry in entries()]
    assert codes == sorted(set(codes))
    assert len({entry.name for entry in entries()}) == len(codes)
    assert {notice.code for notice in NOTICES} < set(codes)


@pytest.mark.parametrize("text", ["RM104", "rm104", "augmented-update", " Augmented-Update "])
def test_an_entry_is_found_by_code_or_name(text):
    assert find(text).code == "RM104"


def test_explain_prints_reason_help_and_examples():
    text = explain("RM104")
    entry = find("RM104")
    assert text.startswith("# RM104 augmented-update\n\n")
    assert "Severity: error. Fix: safe.\n" in text
    assert entry.explanation in text
    for example in (*entry.valid, *entry.invalid):
        assert f"```python\n{example.strip(chr(10))}\n```" in text


def test_explain_begins_with_the_summary_as_a_sentence():
    for entry in entries():
        first = explain(entry.code).splitlines()[2]
        assert first.lower().startswith(entry.summary.lower().removesuffix("."))
        assert first[0] == first[0].upper()


def test_explain_finds_the_codes_about_files():
    assert explain("older-release").startswith("# RM005 older-release\n\nRewriting is refused")


def test_an_unknown_code_names_the_nearest():
    with pytest.raises(UnknownCodeError) as caught:
        explain("RM1040")
    assert str(caught.value) == "unknown rule 'RM1040'; did you mean 'RM104'?"


def test_the_table_has_a_line_for_every_code_and_its_columns_align():
    header, *lines = rule_table().splitlines()
    assert [line.split()[:4] for line in lines] == [
        [entry.code, entry.name, entry.severity.value, entry.fix.value] for entry in entries()
    ]
    column = header.index("summary")
    assert [line[column:] for line in lines] == [entry.summary for entry in entries()]


def test_the_json_table_holds_the_whole_documentation():
    records = json.loads(rule_table("json"))
    assert [record["code"] for record in records] == [entry.code for entry in entries()]
    assert list(records[0]) == [
        "code",
        "name",
        "severity",
        "fix",
        "summary",
        "explanation",
        "help",
        "valid",
        "invalid",
    ]


@pytest.mark.parametrize("code", ["RM901", "RM902"])
def test_the_examples_of_suppression_notices_are_reported(code):
    for example in find(code).invalid:
        source = Source.of(example)
        assert [d.code for d in suppress(source, ()).problems] == [code]
