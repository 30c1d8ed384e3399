"""Globs have their `.gitignore` meaning below their base."""

from __future__ import annotations

from pathlib import Path

import pytest

from reducer_migrate.patterns import Patterns


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("a/", "a/b.py", True),
        ("/b.py", "a/b.py", False),
        ("a/**/c.py", "a/x/y/c.py", True),
        ("a/*.py", "a/x/c.py", False),
        ("", "a.py", False),
        ("# comment", "# comment", False),
    ],
)
def test_globs(glob, path, fits):
    assert Patterns(Path("/base"), (glob,)).match(Path("/base") / path) is fits


def test_a_later_negation_takes_a_path_back():
    patterns = Patterns(Path("/base"), ("*.py", "!keep.py"))
    assert patterns.match(Path("/base/drop.py"))
    assert not patterns.match(Path("/base/keep.py"))


def test_relative_paths_are_below_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Patterns(tmp_path, ("src/*.py",)).match(Path("src/../src/a.py"))
    assert not Patterns(tmp_path, ("*.py",)).match(Path("../a.py"))
