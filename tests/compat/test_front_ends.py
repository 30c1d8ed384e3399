"""Every way that TileLang offers to compile a kernel goes through the runtime."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
import tilelang

import reducer_compat
from reducer_compat import ReducerError, simt
from reducer_compat.adapter import adapter
from tests.compat.front_ends import COLUMNS, ROWS, WAYS, eager, row_sum, target, tensors
from tests.compat.lowering import body, source


@cache
def ours() -> str:
    """The code of the row sum by way of `tilelang.lower`."""
    return body(source(row_sum()))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_compiled_kernel_is_ours_and_right(nvcc: list[str], way: str) -> None:
    kernel = WAYS[way]()
    assert body(kernel.get_kernel_source()) == ours()
    assert len(nvcc) == 1
    A = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS)
    np.testing.assert_array_equal(simt.run(kernel.prim_func, A), A.sum(1))


def test_a_pickled_kernel_keeps_its_entry(nvcc: list[str]) -> None:
    assert WAYS["compile"]() is WAYS["pickle, compile"]()
    assert len(nvcc) == 1


def test_an_eager_call_compiles_by_us(nvcc: list[str], environment: pytest.MonkeyPatch) -> None:
    """Up to the launch, for which there is no GPU."""
    from tilelang.jit.kernel import JITKernel

    environment.setattr(JITKernel, "__call__", lambda self, *args: self)
    launched = eager()(*tensors())
    assert body(launched.get_kernel_source()) == body(source(row_sum()))


def test_many_kernels_compile_at_once(nvcc: list[str]) -> None:
    kernels = tilelang.par_compile(
        [row_sum() for _ in range(4)], out_idx=[1], target=target(), num_workers=4
    )
    assert {body(k.get_kernel_source()) for k in kernels} == {body(source(row_sum()))}


def test_threads_install_and_trace_at_once() -> None:
    """`install` from many threads changes TileLang once, while others trace and lower."""
    wanted = source(row_sum())
    patched = reducer_compat.status().patched

    def work(turn: int) -> str:
        reducer_compat.install()
        return source(row_sum())

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(8))) == {wanted}
    assert reducer_compat.status().patched == patched


def traced_before() -> Any:
    reducer_compat.uninstall()
    try:
        return row_sum()
    finally:
        reducer_compat.install()


def allocated_by_an_early_name() -> Any:
    """As `from tilelang.language import alloc_reducer` before us leaves it."""
    import tilelang.language as T

    reducer_compat.uninstall()
    alloc_reducer = T.alloc_reducer
    reducer_compat.install()

    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            acc = alloc_reducer((1,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i in T.Parallel(32):
                acc[0] += A[i]
            T.copy(acc, B)

    return kernel


LATE = [traced_before, allocated_by_an_early_name]
old_releases = pytest.mark.skipif(adapter().native_v2, reason="0.1.14 counts its own v1 rightly")


@old_releases
@pytest.mark.parametrize("build", LATE)
def test_a_reducer_from_before_us_is_refused(build: Callable[[], Any]) -> None:
    with pytest.raises(ReducerError) as caught:
        source(build())
    error = caught.value
    assert "RC002 a reducer was made without reducer_compat" in str(error)
    assert error.kernel == "kernel"
    assert "import reducer_compat before" in error.fix


@old_releases
def test_no_cache_serves_a_reducer_from_before_us(nvcc: list[str]) -> None:
    reducer_compat.uninstall()
    func = row_sum()
    tilelang.compile(func, out_idx=[1], target=target())
    reducer_compat.install()
    with pytest.raises(ReducerError, match="RC002"):
        tilelang.compile(func, out_idx=[1], target=target())


def test_a_kernel_of_ours_does_not_compile_without_us() -> None:
    """Its markers are calls of functions that no device has."""
    func = row_sum()
    reducer_compat.uninstall()
    try:
        assert "reducer_compat.update" in source(func)
    finally:
        reducer_compat.install()
