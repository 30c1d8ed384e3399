"""The interpreter's tests run on TileLang as it is, where it can be imported."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

_NEEDED = ("tilelang", "ml_dtypes")
collect_ignore_glob = [] if all(map(importlib.util.find_spec, _NEEDED)) else ["test_*.py"]
os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")


@pytest.fixture(autouse=True)
def stock() -> Iterator[None]:
    """Takes the runtime out of TileLang, so that its own lowering is what runs."""
    import reducer_compat

    reducer_compat.uninstall()
    yield
    reducer_compat.install()
