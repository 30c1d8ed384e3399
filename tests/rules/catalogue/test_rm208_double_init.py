from __future__ import annotations

from reducer_rules.timeline import Condition, LoopKind
from tests.rules.build import Sketch, findings, said, v1, v2


def arms(condition: Condition) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    for arm in (0, 1):
        with sketch.branch(condition, arm, ident=9):
            sketch.clear()
    sketch.accumulate()
    sketch.close()
    return sketch


def test_two_epochs_on_one_allocation_are_told_once() -> None:
    sketch = v1()
    sketch.clear()
    sketch.accumulate()
    sketch.close()
    (found,) = findings("RM208", sketch)
    assert found.message == ("reducer `acc` is initialized a second time; the first is on line 2")
    assert found.help == "allocate a second reducer for the second epoch"
    assert found.span.line == 5
    assert said("RM209", sketch) == []
    assert said("RM205", sketch) == []


def test_the_arms_of_a_run_time_condition_are_two() -> None:
    (found,) = findings("RM208", arms(Condition.UNIFORM))
    assert found.message == (
        "reducer `acc` is initialized in both arms of a condition that is not resolved at "
        "compile time; the other is on line 2"
    )
    assert found.help == (
        "initialize it once, before the condition, or allocate a reducer in each arm"
    )
    assert said("RM210", arms(Condition.UNIFORM)) == []


def test_the_arms_of_a_compile_time_condition_are_one() -> None:
    assert said("RM208", arms(Condition.COMPILE_TIME)) == []
    assert said("RM210", arms(Condition.COMPILE_TIME)) == []


def test_an_allocation_in_each_arm_is_initialized_once() -> None:
    sketch = Sketch()
    for arm in (0, 1):
        with sketch.branch(Condition.UNIFORM, arm, ident=9):
            sketch.alloc()
            sketch.clear()
            sketch.close()
    assert said("RM208", sketch) == []
    assert said("RM209", sketch) == []


def test_one_init_in_a_loop_is_one() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL):
        sketch.init()
        sketch.contribute()
        sketch.finalize()
    assert said("RM208", sketch) == []
    assert said("RM208", v2()) == []
