"""Globs have their `.gitignore` meaning below their base."""

from __future__ import annotations

import pytest

from reducer_migrate.globs import Globs


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
    assert Globs("/base", (glob,)).match(f"/base/{path}") is fits


def test_a_later_negation_takes_a_path_back():
    globs = Globs("/base", ("*.py", "!keep.py"))
    assert globs.match("/base/drop.py")
    assert not globs.match("/base/keep.py")


def test_relative_paths_are_below_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Globs(str(tmp_path), ("src/*.py",)).match("src/../src/a.py")
    assert not Globs(str(tmp_path), ("/a.py",)).match("../a.py")
