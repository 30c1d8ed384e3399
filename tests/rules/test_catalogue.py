"""The catalogue as a whole: names, documentation, and silence on right code."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from reducer_rules import Fix, Rule, Severity, Target
from reducer_rules.catalogue import rule, rules
from reducer_rules.release import Release
from reducer_rules.rule import LegacyRule
from tests.rules.build import Sketch, findings, rfc, v1, v2

EACH = pytest.mark.parametrize("each", rules(), ids=lambda each: each.code)
OLD, NEW = Target(Release.parse("0.1.13")), Target(Release.parse("0.1.15"))


def test_codes_and_names_are_unique() -> None:
    assert len({each.code for each in rules()}) == len(rules())
    assert len({each.name for each in rules()}) == len(rules())


def test_both_families_are_complete() -> None:
    codes = [each.code for each in rules()]
    assert codes == sorted(codes)
    assert [code for code in codes if code < "RM200"] == [f"RM1{n:02}" for n in range(1, 12)]
    semantic = [code for code in codes if "RM200" < code < "RM300"]
    assert semantic == [f"RM2{n:02}" for n in range(1, 28)]


@EACH
def test_a_module_is_named_after_its_rule(each: Rule) -> None:
    file = Path(str(sys.modules[type(each).__module__].__file__))
    assert file.stem == f"{each.code.lower()}_{each.name.replace('-', '_')}"


@EACH
def test_a_rule_documents_itself(each: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each.name)
    assert len(re.findall(r"[.)](?: |$)", each.explanation)) >= 2
    assert "#" in each.explanation or "TileLang" in each.explanation
    assert not each.summary.endswith(".")
    assert not each.help.endswith(".")
    assert 2 <= len(each.valid) <= 4
    assert 2 <= len(each.invalid) <= 4


@EACH
def test_examples_are_python_and_differ(each: Rule) -> None:
    examples = each.valid + each.invalid
    assert len(set(examples)) == len(examples)
    for example in examples:
        ast.parse(example)


def test_an_unknown_code_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="RM999"):
        rule("RM999")


@pytest.mark.parametrize("make", [v1, v2, rfc])
def test_a_complete_epoch_breaks_no_semantic_rule(make: type[Sketch]) -> None:
    sketch = make()
    broken = [each.code for each in rules() if each.code > "RM2" and findings(each.code, sketch)]
    assert [code for code in broken if code < "RM3"] == []


def test_a_v2_epoch_has_no_legacy_surface() -> None:
    assert [each.code for each in rules() if each.code < "RM2" and findings(each.code, v2())] == []


@pytest.mark.parametrize(
    ("target", "severity"),
    [
        (Target(), Severity.ERROR),
        (NEW, Severity.ERROR),
        (OLD, Severity.NOTE),
        (Target(OLD.release, compat=True), Severity.ERROR),
    ],
    ids=["any", "0.1.15", "0.1.13", "0.1.13 with reducer_compat"],
)
def test_the_legacy_surface_weighs_what_the_release_makes_of_it(
    target: Target, severity: Severity
) -> None:
    legacy = [each for each in rules() if isinstance(each, LegacyRule)]
    found = [finding for each in legacy for finding in findings(each.code, v1(), target)]
    assert [finding.code for finding in found] == ["RM101", "RM103", "RM104", "RM107"]
    assert {finding.severity for finding in found} == {severity}


def test_a_semantic_finding_refuses_the_rewrite() -> None:
    semantic = [each for each in rules() if "RM2" < each.code < "RM3"]
    assert [each.code for each in semantic if not each.blocks] == ["RM225"]
    assert [each.code for each in semantic if each.fix is not Fix.NONE] == ["RM201"]
