from __future__ import annotations

import pytest

from reducer_rules import Op, Severity
from reducer_rules.timeline import LoopKind, Operands, RowValues, UpdateForm
from tests.rules.build import Sketch, v2
from tests.rules.launched import found, messages, on, opened


def over(
    *extents: int | None, operands: Operands | None = Operands.MEMORY, op: Op = Op.SUM
) -> Sketch:
    sketch = opened(op)
    with sketch.loop(extents=extents):
        sketch.update(UpdateForm.AUGMENTED, op, operands=operands)
    return sketch


def test_the_factor_and_where_it_comes_from() -> None:
    assert messages("RM301", over(8), on("0.1.13")) == [
        (
            3,
            "TileLang 0.1.13 counts each contribution to `acc` 16 times: the loop of 8 iterations "
            "on 128 threads is replicated 16 times, and the finalize adds all",
        )
    ]


def test_two_sites_have_their_own_factors() -> None:
    sketch = over(8)
    with sketch.loop(extents=(16,)):
        sketch.augment(operands=Operands.ELEMENTWISE)
    said = messages("RM301", sketch, on("0.1.8"))
    assert [line for line, _ in said] == [3, 4]
    assert "16 times: the loop of 8 iterations" in said[0][1]
    assert "8 times: the loop of 16 iterations" in said[1][1]


def test_a_serial_loop_inside_the_parallel_one() -> None:
    sketch = opened()
    with sketch.loop(extents=(32,)), sketch.loop(LoopKind.SERIAL, ("k",), (4,)):
        sketch.augment(operands=Operands.MEMORY)
    ((_, message),) = messages("RM301", sketch, on("0.1.10"))
    assert message.startswith("TileLang 0.1.10 counts each contribution to `acc` 4 times")


def test_vectors_cut_along_a_serial_loop_leave_the_factor_open() -> None:
    sketch = opened()
    with sketch.loop(extents=(32,)), sketch.loop(LoopKind.SERIAL, ("k",), (64,)):
        sketch.augment(operands=Operands.MEMORY)
    ((_, message),) = messages("RM301", sketch, on("0.1.10"))
    assert message == (
        "TileLang 0.1.10 counts each contribution to `acc` several times: the loop of 32 "
        "iterations on 128 threads is replicated, and the finalize adds all"
    )


def test_a_serial_loop_around_the_parallel_one_changes_nothing() -> None:
    sketch = opened()
    with sketch.loop(LoopKind.SERIAL, ("k",), (4,)), sketch.loop(extents=(64,)):
        sketch.augment(operands=Operands.MEMORY)
    ((_, message),) = messages("RM301", sketch, on("0.1.10"))
    assert "counts each contribution to `acc` 2 times" in message


@pytest.mark.parametrize(
    ("values", "times"),
    [
        (RowValues("top", 128, 64, 32), 16),
        (RowValues("top", 8, 512, 32), 4),
        (RowValues("top", 128, 4, 32), None),
        (RowValues("top", 5, 7, 32), None),
        (RowValues("sums", 128, 64, 32, reducer=True), None),
    ],
)
def test_one_value_for_each_row_counts_for_the_threads_that_share_it(
    values: RowValues, times: int | None
) -> None:
    sketch = opened()
    with sketch.loop(extents=(32,)):
        sketch.augment(operands=Operands.COLLECTIVE, row_values=values)
    said = [message for _, message in messages("RM301", sketch, on("0.1.13"))]
    if values.reducer:
        assert ["several times" in message for message in said] == [True]
    elif times is None:
        assert said == []
    else:
        assert said == [
            f"TileLang 0.1.13 counts each contribution to `acc` {times} times: {times} threads "
            "hold each value of `top`, and the finalize adds all"
        ]


@pytest.mark.parametrize("operands", [Operands.COLLECTIVE, None])
def test_other_fragments_give_no_factor(operands: Operands | None) -> None:
    ((_, message),) = messages("RM301", over(8, operands=operands), on("0.1.13"))
    assert "counts each contribution to `acc` several times" in message
    assert messages("RM301", over(100, operands=operands), on("0.1.13")) == []


@pytest.mark.parametrize("extents", [(128,), (16, 128), (100,), (192,), (None,), (8, None)])
def test_loops_that_cover_the_threads_fail_to_compile_or_are_not_static(
    extents: tuple[int | None, ...],
) -> None:
    assert messages("RM301", over(*extents), on("0.1.13")) == []


@pytest.mark.parametrize("op", [Op.MAX, Op.MIN])
def test_an_idempotent_combine_hides_replicas(op: Op) -> None:
    assert messages("RM301", over(8, op=op), on("0.1.13")) == []


@pytest.mark.parametrize("replication", ['"none"', "choice"])
def test_only_a_replicated_reducer(replication: str) -> None:
    sketch = opened(replication=replication)
    with sketch.loop():
        sketch.augment(operands=Operands.MEMORY)
    assert messages("RM301", sketch, on("0.1.13")) == []


def test_threads_that_are_unknown_or_no_power_of_two() -> None:
    assert messages("RM301", over(8), on("0.1.13"), threads=None) == []
    assert messages("RM301", over(8), on("0.1.13"), threads=96) == []


def test_it_is_an_error_where_it_happens_and_a_note_where_the_release_is_not_known() -> None:
    (error,) = found("RM301", over(8), on("0.1.13"))
    (note,) = found("RM301", over(8), on(None))
    assert (error.severity, note.severity) == (Severity.ERROR, Severity.NOTE)
    assert note.message.startswith("TileLang 0.1.8 to 0.1.13 counts each contribution")


def test_silence_with_reducer_compat_and_from_0_1_14_and_on_v2() -> None:
    assert found("RM301", over(8), on("0.1.13", compat=True)) == []
    assert found("RM301", over(8), on("0.1.14")) == []
    assert found("RM301", v2(), on(None)) == []
    assert found("RM301", v2(), on("0.1.13")) == []


def test_an_update_outside_a_parallel_loop() -> None:
    sketch = opened()
    with sketch.loop(LoopKind.SERIAL):
        sketch.augment()
    assert messages("RM301", sketch, on("0.1.13")) == []
