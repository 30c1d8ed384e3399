"""What TileLang does to copies in loops inside loops, in kernels without reducers.

Each test holds the reproducer, and fails when a release no longer shows the fault; with reducers
and the runtime the kernels of `tests/kernels/nests.py` are right.
"""

# ruff: noqa: N803, N812 -- TileLang code names tensors and the language in upper case

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tilelang") is None:
    pytest.skip("tilelang is not installed", allow_module_level=True)

import tilelang.language as T

from reducer_compat import simt
from reducer_rules.release import Release
from tests.fuzz.test_fuzz_limits import RELEASE, tilelang_alone

ROWS, COLUMNS = 16, 32


def inner_copies() -> Any:
    """Each turn of a pipeline adds up two tiles that a loop of its own copies."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 2, ROWS, COLUMNS), "int8"), B: T.Tensor((3, ROWS, COLUMNS), "int8")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((ROWS, COLUMNS), "int8")
            both = T.alloc_fragment((ROWS, COLUMNS), "int8")
            for k in T.Pipelined(3, num_stages=2):
                T.clear(both)
                for m in T.serial(2):
                    T.copy(A[k, m, 0:ROWS, 0:COLUMNS], tile)
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        both[i, j] = both[i, j] + tile[i, COLUMNS - 1 - j]
                for i, j in T.Parallel(ROWS, COLUMNS):
                    B[k, i, j] = both[i, j]

    return kernel


@pytest.mark.skipif(Release.parse("0.1.9") > RELEASE, reason="0.1.8 copies synchronously there")
def test_nobody_waits_for_the_copies_of_a_loop_inside_a_pipeline() -> None:
    given = np.random.default_rng(0).integers(1, 50, (3, 2, ROWS, COLUMNS)).astype(np.int8)
    with tilelang_alone():
        result = simt.execute(inner_copies(), given, target="sm_80")
    assert not result.report.ok
    assert (result.outputs[0] != given.sum(1)[:, :, ::-1]).any()


def before_a_pipeline(turns: int) -> Any:
    """In each turn of a loop the maxima of what a pipeline reads and of a tile before it.

    A row of `Y` is 8 bytes: the producers copy it element by element.
    """

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 8, 24), "float32"),
        Y: T.Tensor((3, turns, ROWS, 4), "int16"),
        Z: T.Tensor((3, turns, ROWS, 4), "float32"),
        B: T.Tensor((3, ROWS), "float32"),
    ):
        with T.Kernel(1, threads=32):
            before = T.alloc_shared((8, 24), "float32")
            y = T.alloc_shared((ROWS, 4), "int16")
            z = T.alloc_shared((ROWS, 4), "float32")
            top = T.alloc_fragment((ROWS,), "float32")
            for t in T.serial(3):
                T.copy(X[t, 0:8, 0:24], before)
                for i in T.Parallel(ROWS):
                    top[i] = before[i // 2, i]
                for k in T.Pipelined(turns, num_stages=3):
                    T.copy(Y[t, k, 0:ROWS, 0:4], y)
                    T.copy(Z[t, k, 0:ROWS, 0:4], z)
                    for i in T.Parallel(ROWS):
                        for j in T.serial(4):
                            top[i] = T.max(top[i], z[i, j] * T.cast(y[i, j], "float32"))
                for i in T.Parallel(ROWS):
                    B[t, i] = top[i]

    return kernel


def _run(turns: int) -> tuple[simt.Report, bool]:
    """What a run on sm_90 reports, and whether the numbers are right."""
    rng = np.random.default_rng(1)
    before = rng.integers(-40, 41, (3, 8, 24)).astype(np.float32)
    y = rng.integers(1, 5, (3, turns, ROWS, 4)).astype(np.int16)
    z = rng.integers(-40, 41, (3, turns, ROWS, 4)).astype(np.float32)
    with tilelang_alone():
        result = simt.execute(before_a_pipeline(turns), before, y, z, target="sm_90")
    rows = np.arange(ROWS)
    wanted = np.maximum((y * z).max((1, 3)), before[:, rows // 2, rows])
    return result.report, bool((result.outputs[0] == wanted).all())


@pytest.mark.skipif(Release.parse("0.1.8") != RELEASE, reason="later releases count other phases")
@pytest.mark.parametrize(("turns", "right"), [(3, False), (4, True), (5, False), (6, True)])
def test_an_odd_number_of_turns_is_waited_for_under_the_wrong_parity(
    turns: int, right: bool
) -> None:
    assert _run(turns)[1] is right


@pytest.mark.skipif(Release.parse("0.1.13") > RELEASE, reason="no race before 0.1.13")
def test_consumers_read_a_tile_before_all_have_copied_it() -> None:
    report, _ = _run(4)
    assert {fault.kind for fault in report.faults} == {"race"}
