from __future__ import annotations

import pytest

from reducer_rules.timeline import Condition
from tests.rules.build import Sketch, findings, said


def test_a_finalize_under_a_thread_condition_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    with sketch.branch(Condition.THREAD, text="tx == 0"):
        sketch.close()
    sketch.load()
    (found,) = findings("RM212", sketch)
    assert found.message == (
        "reducer `acc` is finalized under a condition `tx == 0` that differs between threads"
    )
    assert found.help == "move it out of the condition; guard the reads of the result instead"
    assert found.span.line == 3
    for code in ("RM210", "RM221", "RM224"):
        assert said(code, sketch) == [], code


def test_an_init_under_a_thread_condition() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.branch(Condition.THREAD, text="tx < 32"):
        sketch.init()
    sketch.finalize()
    assert said("RM212", sketch) == [
        (2, "reducer `acc` is initialized under a condition `tx < 32` that differs between threads")
    ]
    assert said("RM210", sketch) == []


@pytest.mark.parametrize(
    "condition", [Condition.UNIFORM, Condition.COMPILE_TIME, Condition.UNKNOWN]
)
def test_other_conditions(condition: Condition) -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    with sketch.branch(condition):
        sketch.finalize()
    assert said("RM212", sketch) == []
