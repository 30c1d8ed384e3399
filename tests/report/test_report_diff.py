"""Patches that git applies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reducer_migrate.report.diff import unified


def test_a_patch() -> None:
    assert unified("k/a.py", b"a\nb\nc\n", b"a\nB\nc\n") == (
        b"--- a/k/a.py\n+++ b/k/a.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    )


def test_nothing_for_nothing() -> None:
    assert unified("a.py", b"a\n", b"a\n") == b""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb", b"a\nc"),
        (b"a\nb\n", b"a\nb"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"a\rb\rc", b"a\rB\rc"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
        (b"# coding: latin-1\n\xe4\nx\n", b"# coding: latin-1\n\xe4\ny\n"),
        (b"a\x0cb\x85\xa0\nx\n", b"a\x0cb\x85\xa0\ny\n"),
    ],
)
def test_git_applies_it(tmp_path: Path, old: bytes, new: bytes) -> None:
    (tmp_path / "a.py").write_bytes(old)
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=unified("a.py", old, new),
        cwd=tmp_path,
        check=True,
    )
    assert (tmp_path / "a.py").read_bytes() == new
