"""Ignore patterns, held against git itself."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reducer_migrate.files.ignore import Ignore, Patterns
from reducer_migrate.files.walk import Found, walk

PATTERNS = [
    "build/",
    "*.py",
    "!keep.py",
    "/top.py",
    "a/b.py",
    "a/**",
    "**/deep.py",
    "a/**/z.py",
    "[ab].py",
    "[!a].py",
    "?.py",
    r"\!bang.py",
    r"\#hash.py",
    "#comment.py",
    "trail.py   ",
    r"space.py\ ",
    "a/",
    "/a",
    "a*",
    "b/*",
    "*/b.py",
    "**",
    "!b/",
    "x[[:digit:]].py",
    "",
]
FILES = [
    "top.py",
    "keep.py",
    "a.py",
    "b.py",
    "x1.py",
    "!bang.py",
    "#hash.py",
    "#comment.py",
    "trail.py",
    "space.py ",
    "deep.py",
    "build/a.py",
    "a/b.py",
    "a/z.py",
    "a/top.py",
    "a/q/z.py",
    "a/b/deep.py",
    "b/b.py",
    "b/keep.py",
    "b/a/z.py",
]


def _tree(root: Path, files: list[str]) -> None:
    for file in files:
        path = root / file
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")


def _walked(root: Path) -> list[str]:
    items = list(walk([str(root)], Patterns([], str(root))))
    assert all(isinstance(item, Found) for item in items)
    return [os.path.relpath(item.path, root) for item in items]


def _kept_by_git(root: Path) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    )
    return sorted(os.fsdecode(name) for name in listing.stdout.split(b"\0") if name)


@settings(max_examples=40, deadline=None)
@given(
    top=st.lists(st.sampled_from(PATTERNS), max_size=6),
    nested=st.lists(st.sampled_from(PATTERNS), max_size=4),
    excluded=st.lists(st.sampled_from(PATTERNS), max_size=2),
)
def test_walk_finds_what_git_does_not_ignore(
    top: list[str], nested: list[str], excluded: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        _tree(root, [file for file in FILES if file.endswith(".py")])
        (root / ".gitignore").write_text("\n".join(top))
        (root / "a" / ".gitignore").write_text("\n".join(nested))
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text("\n".join(excluded))
        expected = [name for name in _kept_by_git(root) if name.endswith(".py")]
        assert sorted(_walked(root)) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("foo", "x/foo", True),
        ("foo/", "x/foo", False),
        ("x/foo", "y/x/foo", False),
        ("*.py", "x/a.py", True),
        ("x/*.py", "x/y/a.py", False),
        ("x/**/a.py", "x/a.py", True),
        ("x/**/a.py", "x/y/z/a.py", True),
        ("[unclosed.py", "u.py", False),
        ("[]].py", "].py", True),
        ("[z-a].py", "m.py", False),
        ("a\\*b", "a*b", True),
        ("a\\*b", "axb", False),
        ("CRLF.py\r\n", "CRLF.py", True),
    ],
)
def test_one_pattern(pattern: str, path: str, ignored: bool) -> None:
    patterns = Patterns([pattern], "/base")
    assert (patterns.decide(f"/base/{path}", False) is True) is ignored


def test_the_nearer_file_decides() -> None:
    outer = Ignore(Patterns(["*.py"], "/r"), None)
    inner = Ignore(Patterns(["!kept.py"], "/r/a"), outer)
    assert not inner.ignores("/r/a/kept.py", False)
    assert inner.ignores("/r/a/other.py", False)


def test_covers_looks_at_the_directories_above() -> None:
    patterns = Patterns(["vendor/"], "/r")
    assert patterns.covers("/r/vendor/deep/a.py")
    assert not patterns.covers("/r/src/a.py")


def test_a_path_outside_the_base_is_matched_by_name() -> None:
    patterns = Patterns(["generated_*.py"], "/r")
    assert patterns.covers("/elsewhere/generated_a.py")
    assert not patterns.covers("/elsewhere/a.py")
