"""Every output format: exact documents, their schemas, and text that would break them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from lint_samples import EDITS, FINDINGS, FIXES, GROUPS, SOURCE, TEXT, finding

from reducer_migrate.config import OUTPUT_FORMATS
from reducer_migrate.diagnostic import Position, apply_edits
from reducer_migrate.documentation import find, markdown
from reducer_migrate.report import statistics as statistics_report
from reducer_migrate.report.formats import render
from reducer_migrate.report.model import position
from reducer_migrate.source import Source

HERE = Path(__file__).parent
FORMATS = [format for format in OUTPUT_FORMATS if format != "text"]


def written(format, diagnostics=FINDINGS, fixes=FIXES):
    out = io.StringIO()
    render(format, diagnostics, fixes, out)
    return out.getvalue()


def without_rules(text):
    """SARIF with the rules' documentation, which has its own test, left out."""
    document = json.loads(text)
    driver = document["runs"][0]["tool"]["driver"]
    driver["rules"] = [rule["id"] for rule in driver["rules"]]
    return json.dumps(document, indent=2) + "\n"


@pytest.mark.parametrize("format", FORMATS)
def test_the_document_is_exactly_the_expected_one(format):
    text = written(format)
    expected = (HERE / "reports" / f"{format}.txt").read_text()
    assert (without_rules(text) if format == "sarif" else text) == expected


@pytest.mark.parametrize("format", FORMATS)
def test_the_order_in_which_findings_arrive_does_not_matter(format):
    assert written(format, FINDINGS[::-1]) == written(format)


@pytest.mark.parametrize(
    ("format", "expected"),
    [("concise", ""), ("json", "[]\n"), ("github", ""), ("gitlab", "[]\n")],
)
def test_nothing_found_is_an_empty_document(format, expected):
    assert written(format, ()) == expected


def schema():
    return json.loads((HERE / "schemas" / "sarif-2.1.0.json").read_text())


@pytest.mark.parametrize("diagnostics", [FINDINGS, ()])
def test_sarif_is_valid_by_its_schema(diagnostics):
    document = json.loads(written("sarif", diagnostics))
    jsonschema.Draft4Validator(schema()).validate(document)
    assert len(document["runs"][0]["results"]) == len(diagnostics)


def test_sarif_carries_the_documentation_of_each_rule_it_mentions():
    run = json.loads(written("sarif"))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["RM101", "RM103", "RM104", "RM901"]
    for rule in rules:
        assert rule["help"]["markdown"] == markdown(find(rule["id"]))
        assert rule["shortDescription"]["text"] == find(rule["id"]).summary
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def replaced(text, edits, start, end, content):
    """Apply edits given as (line, column) ranges, as a consumer of a report would."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    for edit in reversed(edits):
        (first, left), (last, right) = start(edit), end(edit)
        begin, finish = starts[first - 1] + left - 1, starts[last - 1] + right - 1
        text = text[:begin] + content(edit) + text[finish:]
    return text


def place(region, side):
    return region[f"{side}Line"], region[f"{side}Column"]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.reducer)
def test_applying_the_replacements_of_a_sarif_fix_gives_the_rewrite(group):
    results = json.loads(written("sarif"))["runs"][0]["results"]
    offered = [
        result["fixes"]
        for result, diagnostic in zip(results, FINDINGS, strict=True)
        if diagnostic.group == group.ident
    ]
    for (fix,) in offered:
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "kernels/row%20sum.py"
        assert replaced(
            TEXT,
            change["replacements"],
            lambda edit: place(edit["deletedRegion"], "start"),
            lambda edit: place(edit["deletedRegion"], "end"),
            lambda edit: edit["insertedContent"]["text"],
        ) == apply_edits(TEXT, EDITS[group.ident])
    assert offered


def test_applying_the_edits_of_a_json_fix_gives_the_rewrite():
    for record, diagnostic in zip(json.loads(written("json")), FINDINGS, strict=True):
        if diagnostic.group is None:
            assert record["fix"] is None
            continue
        (group,) = [group for group in GROUPS if group.ident == diagnostic.group]
        assert record["fix"]["applicability"] == group.fix.value
        assert replaced(
            TEXT,
            record["fix"]["edits"],
            lambda edit: tuple(edit["location"].values()),
            lambda edit: tuple(edit["end_location"].values()),
            lambda edit: edit["content"],
        ) == apply_edits(TEXT, EDITS[group.ident])


def test_a_group_that_is_withheld_is_no_fix():
    fixes = {SOURCE.path: {2: FIXES[SOURCE.path][2]}}
    records = json.loads(written("json", fixes=fixes))
    assert [record["fix"] is None for record in records] == [True, True, True, False, True]


def test_fingerprints_are_unique_and_survive_a_shift_of_lines():
    text = "T.clear(acc)\nT.clear(acc)\nx\n"
    before = [finding("RM103", line, text=text) for line in (1, 2)]
    after = [finding("RM103", line, text="\n\n\n  " + text) for line in (4, 5)]
    prints = [
        [issue["fingerprint"] for issue in json.loads(written("gitlab", found, {}))]
        for found in (before, after)
    ]
    assert prints[0] == prints[1]
    assert len(set(prints[0])) == 2


def test_paths_are_shown_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = finding("RM103", 3, path=str(tmp_path / "a b" / "k#1.py"))
    outside = finding("RM103", 3, path=str(tmp_path.parent / "k.py"))
    run = json.loads(written("sarif", [inside, outside], {}))["runs"][0]
    locations = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in run["results"]]
    assert sorted(locations, key=len) == [
        {"uri": (tmp_path.parent / "k.py").as_uri()},
        {"uri": "a%20b/k%231.py", "uriBaseId": "%SRCROOT%"},
    ]
    assert written("github", [inside], {}).startswith("::error file=a b/k#1.py,line=3,")


def test_github_annotations_escape_what_would_end_them():
    odd = replace(finding("RM103", 3), path="a:b,c%d.py", message="50%\r\n::error::x")
    assert written("github", [odd], {}) == (
        "::error file=a%3Ab%2Cc%25d.py,line=3,endLine=3,title=RM103 rm103,col=1,endColumn=4::"
        "a:b,c%25d.py:3:1: RM103 50%25%0D%0A::error::x%0Ahelp: mend RM103\n"
    )


def test_github_takes_no_columns_for_several_lines():
    several = replace(finding("RM103", 7), end=Position(10, 2))
    assert written("github", [several], {}).startswith(
        "::error file=kernels/row sum.py,line=7,endLine=10,title=RM103 rm103::"
    )


def test_junit_is_xml_whatever_the_text_holds():
    odd = "<&>\"'\x00\x0b\ud800\uffff]]>"
    root = ElementTree.fromstring(
        written("junit", [replace(finding("RM103", 3), path=f"{odd}.py", message=odd)], {})
    )
    (failure,) = root.iter("failure")
    assert failure.get("message") == "<&>\"'\ufffd\ufffd\ufffd\ufffd]]>"
    assert failure.text is not None
    assert failure.text.endswith("]]>\nhelp: mend RM103")


def test_junit_has_a_passing_case_where_nothing_was_found():
    root = ElementTree.fromstring(written("junit", ()))
    assert (root.get("tests"), root.get("failures")) == ("1", "0")
    assert [case.get("name") for case in root.iter("testcase")] == ["no findings"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_name_that_is_no_text_breaks_no_format(format):
    text = written(format, [finding("RM103", 3, path="k\udcff.py")], {})
    assert "RM103" in text


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_positions_of_offsets(newline):
    source = Source.of(f"a\u00fc\U0001f600b{newline}cd{newline}")
    start = source.text.index("c")
    assert position(source, 3) == Position(1, 4)
    assert position(source, start) == Position(2, 1)
    assert position(source, start + 2) == Position(2, 3)
    assert position(source, len(source.text)) == Position(3, 1)


def test_statistics_count_codes_the_most_frequent_first():
    out = io.StringIO()
    statistics_report.render([*FINDINGS, *FINDINGS[1:2] * 9], out)
    assert out.getvalue() == (
        "10  RM103  error    clear-or-fill-opener\n"
        " 1  RM101  error    replication-argument\n"
        " 1  RM103  note     clear-or-fill-opener\n"
        " 1  RM104  error    augmented-update\n"
        " 1  RM901  warning  unused-suppression\n"
    )


def test_statistics_as_json():
    out = io.StringIO()
    statistics_report.render(FINDINGS[:1], out, as_json=True)
    assert json.loads(out.getvalue()) == [
        {"code": "RM101", "name": "replication-argument", "severity": "error", "count": 1}
    ]
