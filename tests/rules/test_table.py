"""The page that lists the rules, and the RFC's rejections."""

from __future__ import annotations

from pathlib import Path

from reducer_rules.catalogue import rules
from reducer_rules.notices import NOTICES
from reducer_rules.table import REJECTIONS, markdown

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown()


def test_the_page_has_one_row_for_every_code() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for each in (*rules(), *NOTICES):
        assert sum(line.startswith(f"| {each.code} |") for line in lines) == 1


def test_every_rejection_names_rules_that_exist() -> None:
    codes = {each.code for each in rules()}
    for what, by in REJECTIONS:
        assert codes.issuperset(by), what
