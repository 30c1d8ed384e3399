"""The runtime's tests are collected where TileLang can be imported."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("tilelang") else ["test_*.py"]
os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment, with the runtime's variables unset, and the runtime put back after."""
    monkeypatch.delenv("REDUCER_COMPAT", raising=False)
    monkeypatch.delenv("REDUCER_COMPAT_PLAN", raising=False)
    yield monkeypatch
    monkeypatch.undo()
    import reducer_compat

    reducer_compat.install()
