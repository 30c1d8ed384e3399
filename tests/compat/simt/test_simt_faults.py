"""Each kind of fault, planted, is reported with its block, its thread and its statement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt

from . import kernels as k

A = np.arange(64, dtype="float32")


def report(kernel: Any, *arrays: Any, **how: Any) -> simt.Report:
    return simt.execute(kernel, *arrays, **how).report


def exchange(body: Any) -> simt.Report:
    configs = {**k.UNSYNCED, **k.UNSAFE}
    return report(k.shared_exchange(body), A, pass_configs=configs)


def test_race_of_a_read() -> None:
    found = exchange(k.neighbour)
    (fault,) = found.faults
    assert (fault.kind, fault.block, fault.thread, fault.count) == (
        "race",
        (0, 0, 0),
        (0, 0, 0),
        128,
    )
    assert fault.statement.endswith("= s[63 - tx]")
    assert fault.message.startswith(
        "thread 0 reads s[63] and thread 63 touched it with no barrier between them, in: s"
    )


def test_race_of_a_write_after_a_read() -> None:
    (fault,) = exchange(k.overwritten).faults
    assert (fault.kind, fault.block, fault.thread) == ("race", (0, 0, 0), (0, 0, 0))
    assert "thread 0 writes s[0] and thread 63 touched it" in fault.message
    assert fault.statement.endswith("= A[tx] + T.float32(1.0)")


def test_race_of_two_writes_in_one_statement() -> None:
    (fault,) = exchange(k.colliding).faults
    assert (fault.kind, fault.count) == ("race", 64)
    assert "thread 0 writes s[0] and thread 1 touched it" in fault.message


ORDERED = [k.agreeing, k.neighbour_synced, k.warp_exchange, k.met_at_two_places]
if hasattr(T, "named_barrier_arrive"):
    ORDERED.append(k.handed_over)


@pytest.mark.parametrize("body", ORDERED)
def test_what_is_no_race(body: Any) -> None:
    assert exchange(body).ok


def test_divergent_barrier() -> None:
    (fault,) = exchange(k.divergent).faults
    assert (fault.kind, fault.block, fault.thread, fault.count) == (
        "divergent-barrier",
        (1, 0, 0),
        (44, 0, 0),
        20,
    )
    assert fault.message == (
        "20 of the block's 64 threads reach this barrier, and the others never do"
    )
    assert fault.statement == 'T.call_extern("handle", "__syncthreads")'


def test_read_of_unwritten_shared_memory() -> None:
    (fault,) = exchange(k.missing_five).faults
    assert (fault.kind, fault.block, fault.thread, fault.count) == (
        "unwritten-read",
        (1, 0, 0),
        (5, 0, 0),
        1,
    )
    assert fault.message == "reads s[5], which nothing wrote"


def test_read_of_unwritten_local_memory() -> None:
    result = simt.execute(k.half_written_local(), A)
    (fault,) = result.report.faults
    assert (fault.kind, fault.thread, fault.count) == ("unwritten-read", (0, 0, 0), 64)
    assert fault.message == "reads v[1], which nothing wrote"
    assert np.isnan(result.outputs[0]).all()


@pytest.mark.parametrize("kernel", [k.accumulated, k.atomically_accumulated])
def test_read_of_an_unwritten_output(kernel: Any) -> None:
    (fault,) = report(kernel(), A).faults
    assert (fault.kind, fault.block, fault.thread) == ("unwritten-read", (0, 0, 0), (0, 0, 0))
    assert "B" in fault.message


def test_output_elements_that_nothing_wrote() -> None:
    (fault,) = report(k.partly_written(), A).faults
    assert (fault.kind, fault.block, fault.thread) == ("unwritten-output", None, None)
    assert fault.message == "54 of its 64 elements were never written, B[1, 2] first"


def test_read_out_of_bounds() -> None:
    (fault,) = report(k.shifted(3, 0), A, pass_configs=k.UNSAFE).faults
    assert (fault.kind, fault.thread, fault.count) == ("out-of-bounds", (61, 0, 0), 3)
    assert fault.message == "element 64 of A, which has 64"
    assert fault.statement.endswith("= A[tx + 3]")


def test_write_out_of_bounds_changes_nothing_else() -> None:
    result = simt.execute(k.shifted(0, 1), A, pass_configs=k.UNSAFE)
    bounds, output = result.report.faults
    assert (bounds.kind, bounds.thread, bounds.count) == ("out-of-bounds", (63, 0, 0), 1)
    assert bounds.message == "element 64 of B, which has 64"
    assert output.kind == "unwritten-output"
    np.testing.assert_array_equal(result.outputs[0][1:], A[:-1])


def test_shuffle_with_a_lane_that_is_not_there() -> None:
    (fault,) = report(k.lonely_shuffle(), A).faults
    assert (fault.kind, fault.thread, fault.count) == ("inactive-lane", (0, 0, 0), 32)
    assert fault.message == "thread 0 shuffles with thread 1, which is not here"


def test_division_by_zero() -> None:
    (fault,) = report(k.divided(), np.arange(64, dtype="int32")).faults
    assert (fault.kind, fault.thread, fault.count) == ("division-by-zero", (0, 0, 0), 1)


def test_write_to_an_array_that_the_caller_made_read_only() -> None:
    a = A.copy()
    a.flags.writeable = False
    (fault,) = report(k.in_place(), a, out_idx=None).faults
    assert (fault.kind, fault.count) == ("read-only", 64)
    assert fault.message == "writes A, a read-only array of the caller"


def test_an_assertion_of_the_kernel() -> None:
    (fault,) = report(k.asserted(), A).faults
    assert (fault.kind, fault.thread, fault.count) == ("assertion", (60, 0, 0), 4)
    assert fault.message == "too large"


def test_a_loop_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reducer_compat.simt.machine.MAX_TURNS", 100)
    with pytest.raises(simt.SimtError, match="a while loop did not end within 100 turns"):
        simt.execute(k.endless(), np.ones(64, "int32"), out_idx=None)


def test_run_raises_with_the_report() -> None:
    with pytest.raises(simt.SimtError) as caught:
        simt.run(k.partly_written(), A)
    assert caught.value.report is not None
    assert [f.kind for f in caught.value.report.faults] == ["unwritten-output"]
    assert "1 blocks of 64 threads" in str(caught.value)
    assert "54 of its 64 elements were never written" in str(caught.value)


def test_reports_filter_by_kind_and_print_one_line_for_each_place() -> None:
    found = report(k.shifted(0, 1), A, pass_configs=k.UNSAFE)
    assert not found.ok
    assert [f.count for f in found.of("out-of-bounds")] == [1]
    assert found.of("race") == ()
    assert (
        "out-of-bounds at block (0, 0, 0), thread (63, 0, 0): element 64 of B, which has 64"
        in str(found)
    )
