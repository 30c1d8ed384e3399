"""The runtime's tests are collected where TileLang can be imported."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("tilelang") else ["test_*.py"]
os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")
# Ours is what is tested, also where mode auto would leave a kernel to TileLang's own reducers.
os.environ.setdefault("REDUCER_COMPAT", "canonical")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment, with the runtime's variables unset, and the runtime put back after."""
    monkeypatch.delenv("REDUCER_COMPAT", raising=False)
    monkeypatch.delenv("REDUCER_COMPAT_PLAN", raising=False)
    yield monkeypatch
    monkeypatch.undo()
    import reducer_compat

    reducer_compat.install()


@pytest.fixture
def nvcc(environment: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """The device sources that reached nvcc, with TileLang's caches on, and empty.

    nvcc alone is replaced, by nothing: it takes up to ten seconds a kernel, machines without a
    GPU may not have it, and what it makes runs nowhere here. All before and after it is TileLang's.
    """
    import tvm_ffi
    from tilelang.autotuner import AutoTuner
    from tilelang.cache import _dispatch_map

    sources: list[str] = []

    def compiled(code: str, *rest: object) -> bytes:
        sources.append(code)
        return b"no device code"

    environment.setenv("TILELANG_DISABLE_CACHE", "0")
    environment.setenv("TILELANG_CACHE_DIR", str(tmp_path))
    # 0.1.8 reads the variable once, at import, and would find what earlier runs tuned for a user.
    if not isinstance(AutoTuner.__dict__["cache_dir"], property):
        environment.setattr(AutoTuner, "cache_dir", tmp_path / "autotuner")
    name = "tilelang_callback_cuda_compile"
    real = tvm_ffi.get_global_func(name)
    tvm_ffi.register_global_func(name, compiled, override=True)
    yield sources
    tvm_ffi.register_global_func(name, real, override=True)
    AutoTuner._memory_cache.clear()
    for cache in _dispatch_map.values():
        cache._memory_cache.clear()
