"""Tensor copies that are too small to keep memory busy are left to all threads."""

from __future__ import annotations

from typing import Any

import pytest

import reducer_compat
from benchmarks.kernel_bench import shipped
from reducer_compat import simt
from reducer_compat.adapter import adapter
from reducer_rules.release import Release
from tests.compat.share import dealt

pytestmark = pytest.mark.skipif(
    adapter().release < Release.parse("0.1.9"),
    reason="warps are told apart after layout inference",
)


@pytest.fixture(autouse=True)
def _canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT", "canonical")


def given_up(kernel: Any) -> list[str]:
    before = len(reducer_compat.status().descents)
    simt.lower(kernel, "sm_90")
    return [descent.note for descent in reducer_compat.status().descents[before:]]


#: Tiles and bytes on their way to a multiprocessor; copies by all threads take 0.67 to 0.93 of the
#: time on an H200.
SMALL = [((8, 64), 18432), ((8, 96), 27648), ((16, 64), 34816), ((8, 128), 36864)]
FRAGMENTS = [*SMALL, ((16, 128), 69632)]


def reason(count: int) -> str:
    return (
        f"warp specialization given up: its tensor copies have {count} bytes on their way to a "
        "multiprocessor"
    )


@pytest.mark.parametrize(
    ("make", "tile", "count"),
    dealt(
        [
            *((shipped.gemv_shared, *small) for small in SMALL),
            *((shipped.gemv_fragment, *small) for small in FRAGMENTS),
            (shipped.row_sum_shared, (8, 96), 24576),
        ],
        hands=3,
    ),
)
def test_small_tiles_of_many_blocks_are_copied_by_all_threads(
    make: Any, tile: tuple[int, int], count: int
) -> None:
    columns = 8192 // tile[1] * tile[1]
    assert given_up(make(16384, columns, *tile, 128, "float16")) == [reason(count)]


@pytest.mark.parametrize(
    ("make", "rows", "tile"),
    dealt(
        [
            (shipped.gemv_shared, 16384, (16, 128)),  # enough bytes
            (shipped.gemv_shared, 16384, (64, 128)),
            (shipped.gemv_fragment, 16384, (64, 128)),
            (shipped.row_sum_shared, 16384, (16, 128)),
            (shipped.gemv_shared, 16384, (32, 8)),  # 32 pieces of 16 bytes for 128 threads
            (shipped.gemv_shared, 4096, (8, 96)),  # few blocks
        ],
        hands=3,
    ),
)
def test_others_stay_with_tensor_copies(make: Any, rows: int, tile: tuple[int, int]) -> None:
    columns = 8192 // tile[1] * tile[1]
    notes = given_up(make(rows, columns, *tile, 128, "float16"))
    # Up to 0.1.12 stages of 8x96 and 32x8 are beyond tensor copies, whoever makes them.
    assert not [note for note in notes if note.startswith("warp specialization")]
