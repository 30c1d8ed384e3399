"""Rewrites as a patch that `git apply` and `patch -p1` take, byte for byte."""

from __future__ import annotations

import difflib
import os
import re

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def unified(path: str, old: bytes, new: bytes) -> bytes:
    """The patch that turns `old` into `new`; empty where they are equal.

    Lines end at a line feed, as they do for git, so other line ends are part of the line.
    """
    name = os.fsencode(path.replace(os.sep, "/").lstrip("/"))
    # latin-1 gives every byte a character, and every character its byte back.
    lines = difflib.unified_diff(
        _lines(old), _lines(new), _header(b"a/", name), _header(b"b/", name), lineterm="\n"
    )
    return b"".join(_terminated(line.encode("latin-1")) for line in lines)


def _header(prefix: bytes, name: bytes) -> str:
    return (prefix + name).decode("latin-1")


def _lines(content: bytes) -> list[str]:
    return [line.decode("latin-1") for line in _LINE.findall(content)]


def _terminated(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
