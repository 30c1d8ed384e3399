from __future__ import annotations

import pytest

from reducer_rules.replication import (
    replicas,
    threads_per_row,
    tiles,
    tiles_native,
    width_is_one,
)


@pytest.mark.parametrize(
    ("threads", "parallel", "times"),
    [
        (128, (8,), 16),
        (128, (3,), 42),
        (128, (5, 7), 3),
        (128, (100,), 1),
        (128, (128,), 1),
        (128, (16, 128), 1),
        (256, (96,), 2),
        (32, (4, 8), 1),
        (128, (192,), None),
    ],
)
def test_replicas(threads: int, parallel: tuple[int, ...], times: int | None) -> None:
    assert replicas(threads, parallel) == times


@pytest.mark.parametrize(
    ("parallel", "serial", "times"),
    [((32,), (4,), 4), ((8,), (3,), 16), ((100,), (3,), 1), ((32,), (64,), None)],
)
def test_a_serial_loop_inside_may_change_the_width_and_then_nothing_is_said(
    parallel: tuple[int, ...], serial: tuple[int, ...], times: int | None
) -> None:
    assert replicas(128, parallel, serial) == times
    assert width_is_one(128, parallel, serial) == (times is not None)


def test_a_loop_of_more_iterations_than_threads_must_be_a_multiple() -> None:
    assert tiles(128, (100,))
    assert tiles(128, (8, 96))
    assert not tiles(128, (192,))
    assert not tiles(128, (3, 100))
    assert tiles(128, (192,), (64,))


@pytest.mark.parametrize("tile", [(1, 192), (192,), (5, 7), (8, 24), (12, 32), (3, 256), (5, 4, 8)])
def test_native_v2_takes_what_it_can_pad_or_deal_by_rows(tile: tuple[int, ...]) -> None:
    assert tiles_native(128, tile, tuple(axis > 0 for axis in range(len(tile))))


@pytest.mark.parametrize("tile", [(8, 96), (16, 48), (3, 100), (32, 7), (2, 192)])
def test_native_v2_fails_on_rows_that_do_not_divide_the_threads(tile: tuple[int, ...]) -> None:
    assert not tiles_native(128, tile, (False, True))


@pytest.mark.parametrize(
    ("rows", "columns", "bits", "sharing"),
    [
        (128, 64, 32, 16),
        (32, 64, 16, 8),
        (32, 8, 16, 4),
        (64, 2, 32, 2),
        (128, 4, 32, 1),
        (8, 512, 32, 128),
        (2, 1024, 32, 256),
        (4, 8, 32, None),
        (5, 7, 32, None),
        (64, 96, 32, None),
    ],
)
def test_the_threads_that_share_a_row(
    rows: int, columns: int, bits: int, sharing: int | None
) -> None:
    assert threads_per_row(128, rows, columns, bits) == sharing
