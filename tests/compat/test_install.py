"""What importing, installing and uninstalling change, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tilelang.language as T

import reducer_compat
from reducer_compat import adapter as adapters
from reducer_compat.adapter import adapter
from tests.compat.lowering import body, source


def scale() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                B[i] = A[i] * 2

    return kernel


def row_sum(batch: int = 1) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32", op="sum")
            out = T.alloc_fragment((8,), "float32")
            T.reducer_init(acc)
            for i, j in T.Parallel(8, 32):
                T.reducer_update(acc[i], A[i, j])
            T.finalize_reducer(acc, out, batch=batch)
            T.copy(out, B)

    return kernel


def test_uninstall_puts_every_name_back() -> None:
    installed = reducer_compat.status()
    assert installed.installed
    assert installed.release == str(adapter().release)
    ours = T.finalize_reducer
    try:
        assert not reducer_compat.uninstall().installed
        assert T.finalize_reducer is not ours
        assert hasattr(T, "reducer_update") == adapter().native_v2
        assert reducer_compat.status().patched == ()
    finally:
        again = reducer_compat.install()
    assert again.patched == installed.patched


def test_a_second_install_changes_nothing() -> None:
    before, update = reducer_compat.status(), T.reducer_update
    assert reducer_compat.install() == before
    assert T.reducer_update is update


def test_a_kernel_without_reducers_is_the_same_code() -> None:
    ours = source(scale())
    reducer_compat.uninstall()
    try:
        stock = source(scale())
    finally:
        reducer_compat.install()
    assert body(ours) == body(stock)
    assert ours == stock


def test_threads_compile_the_same_code() -> None:
    alone = source(row_sum())
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: source(row_sum()), range(8))) == {alone}


def test_batch_changes_no_line_of_code() -> None:
    assert body(source(row_sum(2))) == body(source(row_sum(1)))


def test_an_unknown_mode_is_refused(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("REDUCER_COMPAT", "fast")
    with pytest.raises(reducer_compat.ReducerError) as caught:
        reducer_compat.install()
    assert "RC004 REDUCER_COMPAT='fast' is no mode" in str(caught.value)
    assert "auto, native, canonical, off" in caught.value.fix


def test_an_unknown_plan_is_refused(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("REDUCER_COMPAT_PLAN", "Wide")
    with pytest.raises(reducer_compat.ReducerError, match="RC004") as caught:
        source(row_sum())
    assert "REDUCER_COMPAT_PLAN='Wide' is no plan" in str(caught.value)
    assert "set it to wide" in caught.value.fix


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Pretend that the installed TileLang is another one."""

    def pretend(text: str) -> None:
        monkeypatch.setattr("tilelang.__version__", text)

    return pretend


@pytest.mark.parametrize("text", ["0.1.7", "0.1.16", "0.2.0", "1.0.dev3", "nightly"])
def test_an_unknown_version_is_refused(release: Callable[[str], None], text: str) -> None:
    release(text)
    with pytest.raises(reducer_compat.UnsupportedTileLangError) as caught:
        adapters.adapter.__wrapped__()
    assert f"RC001 reducer_compat was tested on TileLang 0.1.8 to 0.1.15; this is {text}" in str(
        caught.value
    )
    assert "REDUCER_COMPAT=off" in caught.value.fix


def test_native_lowers_by_tilelang_where_it_can(environment: pytest.MonkeyPatch) -> None:
    ours = body(source(row_sum()))
    environment.setenv("REDUCER_COMPAT", "native")
    chosen = body(source(row_sum()))
    assert (chosen != ours) == adapter().native_v2
