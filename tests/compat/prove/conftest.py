"""The counter's tests are collected where TileLang and the interpreter can be imported."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

_NEEDED = ("tilelang", "ml_dtypes")
collect_ignore_glob = [] if all(map(importlib.util.find_spec, _NEEDED)) else ["test_*.py"]
os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")


@pytest.fixture(autouse=True, scope="module")
def ours() -> Iterator[None]:
    """Our lowering on every release: TileLang's own is not counted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDUCER_COMPAT", "canonical")
        yield
