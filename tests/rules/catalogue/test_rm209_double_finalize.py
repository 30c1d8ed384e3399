from __future__ import annotations

from reducer_rules.timeline import Condition
from tests.rules.build import Sketch, findings, said, v1, v2


def arms(condition: Condition) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    for arm in (0, 1):
        with sketch.branch(condition, arm, ident=9):
            sketch.close()
    return sketch


def test_a_second_finalize() -> None:
    sketch = v2()
    sketch.finalize("other")
    (found,) = findings("RM209", sketch)
    assert found.message == "reducer `acc` is finalized a second time; the first is on line 4"
    assert (found.span.line, found.help) == (5, "finalize once")


def test_the_arms_of_a_run_time_condition_are_two() -> None:
    (found,) = findings("RM209", arms(Condition.UNIFORM))
    assert found.message == (
        "reducer `acc` is finalized in both arms of a condition that is not resolved at compile "
        "time; the other is on line 3"
    )
    assert found.help == "finalize it once, before the condition"


def test_the_arms_of_a_compile_time_condition_are_one() -> None:
    assert said("RM209", arms(Condition.COMPILE_TIME)) == []


def test_arms_of_an_unknown_condition_are_told_once() -> None:
    assert len(said("RM209", arms(Condition.UNKNOWN))) == 1
    assert said("RM221", arms(Condition.UNKNOWN)) == []


def test_one_finalize() -> None:
    assert said("RM209", v1()) == []
    assert said("RM209", v2()) == []
