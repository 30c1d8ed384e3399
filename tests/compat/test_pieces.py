"""Tiles go to shared memory 16 bytes at a time where TileLang's own copies would be narrower."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang.language as T

import reducer_compat
from reducer_compat import ReducerError, simt
from reducer_compat.adapter import adapter
from reducer_compat.passes import settle
from tests.compat.lowering import body, compiled, source
from tests.compat.share import dealt
from tests.kernels.case import numpy_dtype

#: Rows and columns of a tile, threads, dtype, and the bytes of its copies.
TILES = (
    (8, 96, 128, "float16", 16),
    (10, 96, 160, "float16", 16),
    (32, 8, 64, "bfloat16", 16),
    (4, 24, 128, "float16", 16),
    (8, 48, 128, "bfloat16", 16),
    (8, 96, 128, "float32", 16),
    (8, 96, 128, "int8", 16),
    (16, 100, 100, "float16", 8),
    (4, 100, 50, "float32", 16),
)


@pytest.fixture(autouse=True)
def canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


def product(tile: tuple[int, int], threads: int, dtype: str, stages: int, start: int = 0) -> Any:
    """Rows of three tiles times one vector, from column `start` on."""
    bm, bk = tile

    @T.prim_func
    def main(
        A: T.Tensor((bm, start + 3 * bk), dtype),
        x: T.Tensor((start + 3 * bk,), dtype),
        y: T.Tensor((bm,), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            A_s = T.alloc_shared((bm, bk), dtype)
            x_s = T.alloc_shared((bk,), dtype)
            acc = T.alloc_reducer((bm,), "float32")
            result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            for kt in T.Pipelined(3, num_stages=stages):
                T.copy(A[0, start + kt * bk], A_s)
                T.copy(x[start + kt * bk], x_s)
                for i, j in T.Parallel(bm, bk):
                    T.reducer_update(acc[i], A_s[i, j].astype("float32") * x_s[j].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


def check(kernel: Any, shape: tuple[int, int], dtype: str, arch: str, start: int = 0) -> str:
    """The source of a kernel whose numbers are right."""
    rng = np.random.default_rng(5)
    a = rng.integers(-3, 4, shape)
    x = rng.integers(-2, 3, shape[1])
    arrays = [array.astype(numpy_dtype(dtype)) for array in (a, x)]
    text, got = compiled(kernel, *arrays, arch=arch)
    np.testing.assert_array_equal(got, a[:, start:] @ x[start:])
    return text


def widths(text: str) -> set[int]:
    """The bytes of the asynchronous copies of a kernel."""
    return {int(found) for found in re.findall(r"cp_async_gs\w*<(\d+)>", body(text))}


@pytest.mark.parametrize("tile", dealt(TILES, hands=3), ids=str)
def test_all_copies_are_as_wide_as_rows_allow(tile: tuple[int, int, int, str, int]) -> None:
    bm, bk, threads, dtype, width = tile
    kernel = product((bm, bk), threads, dtype, 2)
    assert widths(check(kernel, (bm, 3 * bk), dtype, "sm_80")) == {width}


@pytest.mark.parametrize(
    ("tile", "arch", "stages"),
    dealt([(8, 96), (32, 8), (1, 96)], ("sm_80", "sm_90"), range(4), hands=5),
    ids=str,
)
def test_sums_are_right_at_any_depth(tile: tuple[int, int], arch: str, stages: int) -> None:
    check(product(tile, 128, "float16", stages), (tile[0], 3 * tile[1]), "float16", arch)


def test_tiles_and_rows_take_one_turn_each() -> None:
    """A third of the threads' copies of TileLang, and none that a thread waits for."""
    text = body(source(product((8, 96), 128, "float16", 2)))
    assert re.search(r"threadIdx\.x\)? < 96", text)
    assert re.search(r"threadIdx\.x\)? < 12", text)
    assert not re.search(r"_s\)?\[[^=]*\] = ", text)


def test_few_threads_do_not_copy_what_all_could_copy_asynchronously() -> None:
    assert 4 in widths(source(product((32, 8), 128, "float16", 2)))


@pytest.mark.parametrize(("start", "width"), [(4, 8), (2, 4)])
def test_copies_are_no_wider_than_their_start_allows(start: int, width: int) -> None:
    kernel = product((8, 96), 128, "float16", 2, start)
    assert max(widths(check(kernel, (8, start + 288), "float16", "sm_80", start))) <= width


def total_of(shape: tuple[int, ...], dtype: str) -> Any:
    """The sum of a tile with three or four axes."""

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), y: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared(shape, dtype)
            acc = T.alloc_reducer((1,), "float32")
            result = T.alloc_fragment((1,), "float32")
            T.reducer_init(acc)
            T.copy(A, A_s)
            if len(shape) == 3:
                for i, j, k in T.Parallel(*shape):
                    T.reducer_update(acc[0], A_s[i, j, k].astype("float32"))
            else:
                for i, j, k, m in T.Parallel(*shape):
                    T.reducer_update(acc[0], A_s[i, j, k, m].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


@pytest.mark.parametrize(
    ("shape", "dtype"),
    dealt([(12, 8, 16), (3, 8, 32), (3, 1, 32), (3, 2, 8, 32)], ("int8", "int16", "float32")),
    ids=str,
)
def test_tiles_of_more_axes_are_right(shape: tuple[int, ...], dtype: str) -> None:
    a = np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)
    got = simt.run(total_of(shape, dtype), a, target="sm_80")
    np.testing.assert_array_equal(got, [a.astype(np.float32).sum()])


def changed(kernel: Callable[[], Any], arch: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the pass makes a difference to the code of a kernel."""
    text = body(source(kernel(), arch))
    monkeypatch.setattr(settle, "widened", lambda func: {})
    return text != body(source(kernel(), arch))


def total(tile: tuple[int, int], said: dict[str, int], apart: bool = False) -> Any:
    """Sums of the rows of one tile, which half of the threads copy where `apart` says so."""
    bm, bk = tile

    @T.prim_func
    def main(A: T.Tensor((bm, bk), "float16"), y: T.Tensor((bm,), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((bm, bk), "float16")
            acc = T.alloc_reducer((bm,), "float32")
            result = T.alloc_fragment((bm,), "float32")
            T.reducer_init(acc)
            if apart:
                if T.get_thread_binding() < 64:
                    T.copy(A, A_s, **said)
            else:
                T.copy(A, A_s, **said)
            for i, j in T.Parallel(bm, bk):
                T.reducer_update(acc[i], A_s[i, j].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


UNCHANGED = {
    "as wide without": (lambda: total((16, 128), {}), "sm_80"),
    "an odd start": (lambda: product((8, 96), 128, "float16", 2, 1), "sm_80"),
    "said by the author": (lambda: total((8, 96), {"coalesced_width": 2}), "sm_80"),
    "copied by some threads": (lambda: total((8, 96), {}, apart=True), "sm_80"),
}


@pytest.mark.parametrize("name", dealt(UNCHANGED, hands=2))
def test_what_cannot_be_wider_stays_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not changed(*UNCHANGED[name], monkeypatch=monkeypatch)


@pytest.mark.skipif(
    adapter().pipelines_late, reason="specializes warps after the copies are lowered"
)
def test_specialized_warps_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not changed(lambda: product((8, 128), 128, "float16", 2), "sm_90", monkeypatch)


def test_the_others_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the kernels above show what they are there for."""
    assert changed(lambda: total((8, 96), {}), "sm_80", monkeypatch)


def test_a_kernel_without_reducers_is_tilelangs_own() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 96), "float16"), y: T.Tensor((8, 96), "float16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((8, 96), "float16")
            T.copy(A, A_s)
            T.copy(A_s, y)

    with_us = source(main)
    reducer_compat.uninstall()
    try:
        assert source(main) == with_us
    finally:
        reducer_compat.install()


def cube(extents: tuple[int, int, int], gap: int, threads: int) -> Any:
    """Sums over tiles of three axes, `gap` rows into every plane."""
    a, b, c = extents

    @T.prim_func
    def main(A: T.Tensor((a, b + gap, 2 * c), "float16"), y: T.Tensor((a,), "float32")):
        with T.Kernel(1, threads=threads):
            A_s = T.alloc_shared((a, b, c), "float16")
            acc = T.alloc_reducer((a,), "float32")
            result = T.alloc_fragment((a,), "float32")
            T.reducer_init(acc)
            for t in T.serial(2):
                T.copy(A[0:a, gap : gap + b, t * c : t * c + c], A_s)
                for i, j, k in T.Parallel(a, b, c):
                    T.reducer_update(acc[i], A_s[i, j, k].astype("float32"))
            T.finalize_reducer(acc, result)
            T.copy(result, y)

    return main


@pytest.mark.parametrize(
    ("extents", "gap"), dealt([(4, 2, 24), (8, 4, 40), (2, 4, 120)], (0, 1), hands=3), ids=str
)
def test_tiles_of_three_axes(extents: tuple[int, int, int], gap: int) -> None:
    a, b, c = extents
    kernel = cube(extents, gap, 64)
    values = np.random.default_rng(6).integers(-3, 4, (a, b + gap, 2 * c))
    got = simt.run(kernel, values.astype(np.float16))
    np.testing.assert_array_equal(got, values[:, gap:].sum((1, 2)))


@pytest.mark.parametrize(
    ("tile", "threads"),
    dealt([(16, 100), (12, 24), (33, 8), (24, 200)], (48, 96, 128, 192, 320)),
    ids=str,
)
def test_a_layout_of_ours_stops_no_kernel(
    tile: tuple[int, int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right, or refused for what TileLang cannot lay out without it either."""
    kernel = product(tile, threads, "float16", 2)
    try:
        check(kernel, (tile[0], 3 * tile[1]), "float16", "sm_80")
    except ReducerError:
        monkeypatch.setattr(settle, "widened", lambda func: {})
        with pytest.raises(ReducerError):
            source(kernel)
