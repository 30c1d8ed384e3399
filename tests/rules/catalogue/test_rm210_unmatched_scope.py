from __future__ import annotations

import pytest

from reducer_rules.timeline import Condition, LoopKind
from tests.rules.build import Sketch, findings, rfc, said, v1, v2


def test_a_finalize_in_a_further_loop() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    with sketch.loop(LoopKind.SERIAL):
        sketch.accumulate()
        sketch.close()
    (found,) = findings("RM210", sketch)
    assert found.message == (
        "reducer `acc` is finalized in a T.serial loop on line 3, and initialized outside"
    )
    assert found.help == "put init and finalize into the same loop and branch"
    assert found.span.line == 4


def test_an_init_in_a_further_loop() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.PIPELINED):
        sketch.clear()
        sketch.accumulate()
    sketch.close()
    assert said("RM210", sketch) == [
        (4, "reducer `acc` is initialized in a T.Pipelined loop on line 2, and finalized outside")
    ]


@pytest.mark.parametrize("condition", [Condition.UNIFORM, Condition.COMPILE_TIME])
def test_an_init_under_a_condition(condition: Condition) -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.branch(condition, text="flag"):
        sketch.clear()
    sketch.accumulate()
    sketch.close()
    assert said("RM210", sketch) == [
        (4, "reducer `acc` is initialized under `if flag` on line 2, and finalized outside")
    ]


def test_an_init_in_the_other_arm() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.branch(Condition.UNIFORM, 1, "n > 0"):
        sketch.clear()
    sketch.close()
    assert said("RM210", sketch) == [
        (
            3,
            "reducer `acc` is initialized under the else of `if n > 0` on line 2, and finalized "
            "outside",
        )
    ]


def test_one_compile_time_flag_twice_is_one_scope() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.branch(Condition.COMPILE_TIME, text="flag"):
        sketch.clear()
    with sketch.branch(Condition.COMPILE_TIME, text="flag"):
        sketch.close()
    assert said("RM210", sketch) == []


def test_a_run_time_condition_twice_is_two_scopes() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.branch(Condition.UNIFORM, text="n > 0"):
        sketch.clear()
    with sketch.branch(Condition.UNIFORM, text="n > 0"):
        sketch.close()
    assert [line for line, _ in said("RM210", sketch)] == [3]


def test_inits_in_both_arms_of_a_compile_time_condition_cover_the_finalize() -> None:
    sketch = Sketch()
    sketch.alloc()
    for arm in (0, 1):
        with sketch.branch(Condition.COMPILE_TIME, arm, "flag", ident=9):
            sketch.clear()
    sketch.close()
    assert said("RM210", sketch) == []


def test_a_run_time_conditional_finalize_is_legal() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.accumulate()
    with sketch.branch(Condition.UNIFORM):
        sketch.close()
    assert said("RM210", sketch) == []


def test_an_epoch_within_a_loop() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL), sketch.branch(Condition.UNIFORM):
        sketch.clear()
        sketch.accumulate()
        sketch.close()
    assert said("RM210", sketch) == []


def test_straight_epochs() -> None:
    for sketch in (v1(), v2(), rfc()):
        assert said("RM210", sketch) == []
