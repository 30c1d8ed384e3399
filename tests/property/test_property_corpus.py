"""Thousands of real Python files, none of which holds a v1 reducer: nothing changes or crashes."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest

from reducer_migrate.engine import Options, analyse
from reducer_migrate.names import names_reducer
from reducer_migrate.rewriting import rewrite
from reducer_migrate.source import Source, UndecodableError

_FOLDERS = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
#: TileLang's own sources define and document the operations, and are in the golden tests' reach.
_FILES = sorted(
    {
        path
        for folder in _FOLDERS
        for path in Path(folder).rglob("*.py")
        if "tilelang" not in path.parts
    }
)


def test_there_are_thousands() -> None:
    assert len(_FILES) > 2000


def test_the_byte_search_leaves_them_all_out() -> None:
    hits = [path for path in _FILES if names_reducer(path.read_bytes())]

    assert [path for path in hits if "reducer_" not in str(path)] == []


@pytest.mark.parametrize("seed", range(2))
def test_the_engine_itself_changes_none(seed: int) -> None:
    """Past the byte search: each file is made to name a reducer operation in a comment."""
    for path in random.Random(seed).sample(_FILES, 60):
        raw = path.read_bytes() + b"\n# alloc_reducer\n"
        try:
            source = Source.read(str(path), raw)
            analysis = analyse(source, Options())
        except (UndecodableError, ValueError):
            continue
        assert analysis.diagnostics == ()
        result = rewrite(source, analysis, Options())
        assert source.encode(result.text) == raw
