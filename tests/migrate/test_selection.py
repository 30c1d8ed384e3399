"""Selectors: codes, prefixes, names, precedence and per-file ignores."""

from __future__ import annotations

import pytest

from reducer_migrate.documentation import UnknownCodeError
from reducer_migrate.globs import Globs
from reducer_migrate.selection import Selection

KERNEL = "/project/src/kernel.py"


@pytest.mark.parametrize(
    ("options", "selected", "left_out"),
    [
        ({}, ["RM101", "RM901"], []),
        ({"select": ["RM1"]}, ["RM101", "RM104"], ["RM901"]),
        ({"select": ["rm104"]}, ["RM104"], ["RM101"]),
        ({"select": ["augmented-update"]}, ["RM104"], ["RM101"]),
        ({"ignore": ["RM1"]}, ["RM901"], ["RM101", "RM104"]),
        ({"select": ["ALL"], "ignore": ["ALL"]}, [], ["RM101", "RM901"]),
        ({"select": ["RM104"], "ignore": ["RM1"]}, ["RM104"], ["RM101"]),
        ({"select": ["RM1"], "ignore": ["RM104"]}, ["RM101"], ["RM104"]),
        ({"select": ["RM104"], "ignore": ["RM104"]}, [], ["RM104"]),
        ({"select": ["RM9"], "extend_select": ["RM104"]}, ["RM901", "RM104"], ["RM101"]),
        ({"select": []}, [], ["RM101", "RM901"]),
    ],
)
def test_the_most_specific_selector_decides_and_ignore_wins_a_tie(options, selected, left_out):
    selection = Selection.of(**options)
    assert [code for code in (*selected, *left_out) if selection.selects(code, KERNEL)] == selected


def test_trouble_with_a_file_is_always_reported():
    selection = Selection.of(select=["RM104"], ignore=["ALL"])
    codes = ["RM001", "RM002", "RM003", "RM004", "RM005", "RM006", "RM007", "RM008"]
    always = ["RM001", "RM002", "RM003", "RM004", "RM007", "RM008"]
    assert [code for code in codes if selection.selects(code, KERNEL)] == always


@pytest.mark.parametrize(
    ("glob", "hit"),
    [("src/*", True), ("kernel.py", True), ("src", True), ("tests/*", False), ("*.pyi", False)],
)
def test_per_file_ignores_are_globs_below_their_base(glob, hit):
    selection = Selection.of(
        select=["RM104"], per_file_ignores=[(Globs("/project", (glob,)), ("RM1",))]
    )
    assert selection.selects("RM104", KERNEL) is not hit
    assert selection.selects("RM104", "/elsewhere/k.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RM1O4", "unknown rule code 'RM1O4'; did you mean 'RM104'?"),
        ("RM999", "unknown rule code 'RM999'; did you mean 'RM901'?"),
        ("RN104", "unknown rule code 'RN104'; did you mean 'RM104'?"),
        (
            "augmented-updat",
            "unknown rule code 'augmented-updat'; did you mean 'augmented-update'?",
        ),
        ("F401", "unknown rule code 'F401'; `reducer-migrate rules` lists every code"),
        ("", "unknown rule code ''; `reducer-migrate rules` lists every code"),
    ],
)
@pytest.mark.parametrize("key", ["select", "ignore", "extend_select"])
def test_an_unknown_selector_names_the_nearest_one(key, text, message):
    with pytest.raises(UnknownCodeError) as caught:
        Selection.of(**{key: [text]})
    assert str(caught.value) == message
