"""The model of `reducer_rules.replication` against the code that the releases generate."""

from __future__ import annotations

from math import prod

import pytest

from reducer_rules.release import NATIVE_V2
from reducer_rules.replication import replicas, tiles, tiles_native
from tests.releases.cases import GRID, NATIVE_GRID, Loop
from tests.releases.conftest import Probe


@pytest.mark.parametrize("loop", GRID, ids=lambda loop: loop.name)
def test_every_iteration_counts_once_per_replica(probed: Probe, loop: Loop) -> None:
    if probed.release >= NATIVE_V2:
        assert loop.name not in probed.outcomes
        return
    serial = (loop.serial,) if loop.serial > 1 else ()
    found = probed[loop.name]
    assert bool(found.error) == (not tiles(loop.threads, loop.parallel, serial))
    if found.error:
        return
    times = replicas(loop.threads, loop.parallel, serial)
    assert times is not None
    rounds = 2 if loop.kernel == "nested_parallel" else 1
    total = prod(loop.parallel) * loop.serial * rounds
    assert sum(found.values) == times * total
    assert not found.faults


@pytest.mark.parametrize("tile", NATIVE_GRID, ids=lambda tile: "x".join(map(str, tile)))
def test_native_v2_compiles_the_tiles_that_fit(probed: Probe, tile: tuple[int, int]) -> None:
    rows, columns = tile
    name = f"v2 {rows}x{columns}"
    if probed.release < NATIVE_V2:
        assert name not in probed.outcomes
        return
    found = probed[name]
    assert bool(found.error) == (
        not tiles_native(128, tile, tuple(axis > 0 for axis in range(len(tile))))
    )
    assert found.error or found.sums_to(columns)
