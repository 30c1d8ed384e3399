"""Every rule as users meet it: its message with the caret, and the same finding in JSON and SARIF.

`python tests/migrate/test_rule_reports.py` writes the expected messages again.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import jsonschema
import pytest

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.engine import Options
from reducer_migrate.judge import Policy, judge, offers
from reducer_migrate.report import formats
from reducer_migrate.report.render import render
from reducer_migrate.source import Source
from reducer_rules import Rule
from reducer_rules.catalogue import rules

HERE = Path(__file__).parent
KERNEL = """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
"""


def module(example: str) -> str:
    """The example itself where it is a module, else a kernel around it."""
    if example.startswith(("import ", "from ", "def ", "@")):
        return example
    return KERNEL + "".join(f"        {line}" for line in example.splitlines(keepends=True))


def report(rule: Rule, number: int, format: str) -> str:
    """What one format says of one invalid example, all of its findings."""
    source = Source.of(module(rule.invalid[number]), f"{rule.code}_{number}.py")
    policy = Policy(Options(target=rule.example_target, lint=True))
    judgement = judge(source, policy)
    fixes = {source.path: offers(judgement, policy)}
    out = io.StringIO()
    formats.render(format, judgement.reported, fixes, out)
    return out.getvalue()


def found(rule: Rule, number: int) -> list[Diagnostic]:
    """What this rule reports in one of its invalid examples."""
    source = Source.of(module(rule.invalid[number]), f"{rule.code}_{number}.py")
    judgement = judge(source, Policy(Options(target=rule.example_target, lint=True)))
    return [diagnostic for diagnostic in judgement.reported if diagnostic.code == rule.code]


def messages(rule: Rule) -> str:
    """The text of every finding of a rule in its invalid examples."""
    return "\n".join(
        "".join(map(render, found(rule, number))) for number in range(len(rule.invalid))
    )


EXAMPLES = [
    pytest.param(rule, number, id=f"{rule.code}-{number}")
    for rule in rules()
    for number in range(len(rule.invalid))
]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_the_message_is_the_expected_one(rule):
    expected = (HERE / "messages" / f"{rule.code}.txt").read_text(encoding="utf-8")
    assert messages(rule) == expected
    assert "^" in expected


@pytest.mark.parametrize(("rule", "number"), EXAMPLES)
def test_json_holds_the_same_finding(rule, number):
    records = [r for r in json.loads(report(rule, number, "json")) if r["code"] == rule.code]
    assert [
        (r["name"], r["severity"], r["message"], r["help"], *r["location"].values())
        for r in records
    ] == [
        (rule.name, d.severity.value, d.message, d.help, d.start.line, d.start.column)
        for d in found(rule, number)
    ]
    assert records


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((HERE / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema)


@pytest.mark.parametrize(("rule", "number"), EXAMPLES)
def test_sarif_holds_the_same_finding(rule, number, validator):
    document = json.loads(report(rule, number, "sarif"))
    validator.validate(document)
    results = [r for r in document["runs"][0]["results"] if r["ruleId"] == rule.code]
    regions = [r["locations"][0]["physicalLocation"]["region"] for r in results]
    assert [
        (result["level"], result["message"]["text"], *region.values())
        for result, region in zip(results, regions, strict=True)
    ] == [
        (
            d.severity.value,
            f"{d.message}\nhelp: {d.help}",
            d.start.line,
            d.start.column,
            d.end.line,
            d.end.column,
        )
        for d in found(rule, number)
    ]


if __name__ == "__main__":
    (HERE / "messages").mkdir(exist_ok=True)
    for each in rules():
        (HERE / "messages" / f"{each.code}.txt").write_text(messages(each), encoding="utf-8")
        sys.stdout.write(f"{each.code}\n")
