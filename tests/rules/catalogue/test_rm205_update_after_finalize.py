from __future__ import annotations

from reducer_rules.timeline import Condition, LoopKind
from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_first_late_update_is_told() -> None:
    sketch = v1()
    sketch.accumulate()
    sketch.accumulate()
    (found,) = findings("RM205", sketch)
    assert found.message == ("`acc[0]` is updated after the finalize of reducer `acc` on line 4")
    assert found.span.line == 5


def test_the_same_in_v2() -> None:
    sketch = v2()
    sketch.contribute()
    assert [line for line, _ in said("RM205", sketch)] == [5]


def test_a_finalize_that_may_be_skipped_comes_before_too() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    with sketch.branch(Condition.UNIFORM):
        sketch.close()
    sketch.accumulate()
    assert [line for line, _ in said("RM205", sketch)] == [4]


def test_an_epoch_in_a_loop_starts_again() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL):
        sketch.clear()
        sketch.accumulate()
        sketch.close()
    assert said("RM205", sketch) == []


def test_the_other_arm_comes_not_after() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    with sketch.branch(arm=0, ident=9):
        sketch.close()
    with sketch.branch(arm=1, ident=9):
        sketch.accumulate()
    assert said("RM205", sketch) == []
