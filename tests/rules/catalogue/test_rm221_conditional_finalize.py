from __future__ import annotations

import pytest

from reducer_rules.timeline import Condition
from tests.rules.build import Sketch, findings, said


def conditional(condition: Condition, destination: str | None) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.contribute()
    with sketch.branch(condition, text="flag"):
        sketch.finalize(destination)
    return sketch


@pytest.mark.parametrize("destination", [None, "result"])
def test_an_unknown_condition(destination: str | None) -> None:
    (found,) = findings("RM221", conditional(Condition.UNKNOWN, destination))
    assert found.message == (
        "reducer `acc` is finalized under a condition `flag` that its init is not under, and it "
        "is not known when that is decided"
    )
    assert found.help == "put the init under the same condition, or finalize unconditionally"
    assert found.span.line == 4


def test_a_compile_time_condition_in_v2() -> None:
    assert said("RM221", conditional(Condition.COMPILE_TIME, "result")) == [
        (
            4,
            "reducer `acc` is finalized under the compile-time condition `flag` that its init is "
            "not under: with the other value the epoch is never closed",
        )
    ]


def test_a_compile_time_condition_in_v1_is_moved_by_the_rewrite() -> None:
    assert said("RM221", conditional(Condition.COMPILE_TIME, None)) == []


@pytest.mark.parametrize("destination", [None, "result"])
def test_a_run_time_uniform_condition_is_legal(destination: str | None) -> None:
    assert said("RM221", conditional(Condition.UNIFORM, destination)) == []


@pytest.mark.parametrize("condition", [Condition.UNKNOWN, Condition.COMPILE_TIME])
def test_an_init_under_the_same_condition(condition: Condition) -> None:
    sketch = Sketch()
    with sketch.branch(condition):
        sketch.alloc()
        sketch.init()
        sketch.finalize()
    assert said("RM221", sketch) == []


def test_finalizes_in_both_arms_of_a_compile_time_condition() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    for arm in (0, 1):
        with sketch.branch(Condition.COMPILE_TIME, arm, "flag", ident=9):
            sketch.finalize()
    assert said("RM221", sketch) == []
