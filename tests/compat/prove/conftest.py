"""The counter's tests are collected where TileLang and the interpreter can be imported."""

from __future__ import annotations

import importlib.util
import os

_NEEDED = ("tilelang", "ml_dtypes")
collect_ignore_glob = [] if all(map(importlib.util.find_spec, _NEEDED)) else ["test_*.py"]
os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")
