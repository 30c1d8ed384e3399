"""No cache of TileLang's serves a reducer kernel that another lowering compiled."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang.cache.kernel_cache import KernelCache
from tilelang.jit import JITImpl

import reducer_compat
from tests.compat.test_install import row_sum, scale


def key(func: Any) -> str:
    """The key of a kernel in TileLang's kernel cache."""
    import inspect

    cache = KernelCache()
    given = {
        "func": func,
        "out_idx": [1],
        "execution_backend": "tvm_ffi",
        "target": "cuda",
        "target_host": None,
        "pass_configs": None,
        "compile_flags": None,
        "args": (),
    }
    names = inspect.signature(_unwrapped()).parameters
    return str(cache._generate_key(**{name: given[name] for name in names if name in given}))


def _unwrapped() -> Any:
    reducer_compat.uninstall()
    try:
        return KernelCache._generate_key
    finally:
        reducer_compat.install()


def test_kernels_without_reducers_keep_their_entries(environment: pytest.MonkeyPatch) -> None:
    func = scale()
    ours = key(func)
    reducer_compat.uninstall()
    assert KernelCache._generate_key.__module__.startswith("tilelang")
    environment.setenv("REDUCER_COMPAT", "off")
    assert key(func) == ours


def test_every_mode_and_plan_has_entries_of_its_own(environment: pytest.MonkeyPatch) -> None:
    func = row_sum()
    found = {key(func)}
    environment.setenv("REDUCER_COMPAT", "canonical")
    found.add(key(func))
    environment.setenv("REDUCER_COMPAT_PLAN", "wide")
    found.add(key(func))
    assert len(found) == 3


def compiled() -> Any:
    @tilelang.jit(out_idx=[-1])
    def make(n):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=n):
                for i in T.Parallel(n):
                    B[i] = A[i] * 2

        return kernel

    return make


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Compilations so far; none reaches nvcc."""
    calls: list[int] = []

    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return object()

    monkeypatch.setattr(JITImpl, "compile", compile)
    return calls


def test_a_jit_object_compiles_again_after_a_change_of_mode(
    environment: pytest.MonkeyPatch,
) -> None:
    make, calls = compiled(), counting(environment)
    make(128), make(128)
    assert len(calls) == 1
    environment.setenv("REDUCER_COMPAT", "canonical")
    make(128), make(128)
    assert len(calls) == 2


def test_a_jit_object_older_than_the_runtime_compiles_again(
    environment: pytest.MonkeyPatch,
) -> None:
    reducer_compat.uninstall()
    make, calls = compiled(), counting(environment)
    make(128)
    reducer_compat.install()
    make(128)
    reducer_compat.uninstall()
    make(128)
    assert len(calls) == 3
