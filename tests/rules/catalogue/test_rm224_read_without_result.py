from __future__ import annotations

import pytest

from reducer_rules.timeline import Condition, LoopKind
from tests.rules.build import Sketch, findings, said, v1, v2


def skipped(condition: Condition = Condition.UNIFORM) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.accumulate()
    with sketch.branch(condition, text="n > 0"):
        sketch.close()
    return sketch


@pytest.mark.parametrize("condition", [Condition.UNIFORM, Condition.COMPILE_TIME])
def test_a_read_that_the_condition_does_not_skip(condition: Condition) -> None:
    sketch = skipped(condition)
    sketch.load()
    (found,) = findings("RM224", sketch)
    assert found.message == (
        "reducer `acc` is read also where the condition `n > 0` skips its finalize on line 4"
    )
    assert found.help == "put the read under the same condition, or finalize unconditionally"
    assert found.span.line == 5


@pytest.mark.parametrize("condition", [Condition.UNIFORM, Condition.COMPILE_TIME])
def test_a_read_under_the_same_condition(condition: Condition) -> None:
    sketch = skipped(condition)
    with sketch.branch(condition, text="n > 0"):
        sketch.load()
    assert said("RM224", sketch) == []


def test_finalizes_in_both_arms_reach_every_read() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    for arm in (0, 1):
        with sketch.branch(Condition.COMPILE_TIME, arm, "flag", ident=9):
            sketch.close()
    sketch.load()
    assert said("RM224", sketch) == []


def test_epochs_in_both_arms_reach_every_read() -> None:
    sketch = Sketch()
    sketch.alloc()
    for arm in (0, 1):
        with sketch.branch(Condition.COMPILE_TIME, arm, "flag", ident=9):
            sketch.clear()
            sketch.accumulate()
            sketch.close()
    sketch.load()
    assert said("RM224", sketch) == []
    assert said("RM204", sketch) == []


def test_a_loop_around_the_finalize_is_taken_to_run() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL):
        sketch.clear()
        sketch.close()
    sketch.load()
    assert said("RM224", sketch) == []


def test_an_unknown_condition_is_told_once() -> None:
    sketch = skipped(Condition.UNKNOWN)
    sketch.load()
    assert said("RM224", sketch) == []
    assert [line for line, _ in said("RM221", sketch)] == [4]


def test_straight_epochs() -> None:
    for sketch in (v1(), v2()):
        sketch.load()
        assert said("RM224", sketch) == []
