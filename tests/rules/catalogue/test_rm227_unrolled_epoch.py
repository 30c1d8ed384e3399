from __future__ import annotations

import pytest

from reducer_rules.timeline import LoopKind
from tests.rules.build import Sketch, findings, said


def repeated(kind: LoopKind) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(kind):
        sketch.clear()
        sketch.accumulate()
        sketch.close()
    return sketch


def test_an_allocation_outside_the_unrolled_loop() -> None:
    (found,) = findings("RM227", repeated(LoopKind.TRACE))
    assert found.message == (
        "reducer `acc` is initialized once per item of the Python iteration on line 2, which the "
        "trace unrolls, and allocated outside"
    )
    assert found.help == "move the allocation and the result fragment into the loop"
    assert found.span.line == 2
    assert said("RM210", repeated(LoopKind.TRACE)) == []


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.UNROLL, LoopKind.PIPELINED])
def test_a_loop_that_stays_a_loop(kind: LoopKind) -> None:
    assert said("RM227", repeated(kind)) == []


def test_an_allocation_inside() -> None:
    sketch = Sketch()
    with sketch.loop(LoopKind.TRACE):
        sketch.alloc()
        sketch.clear()
        sketch.close()
    assert said("RM227", sketch) == []


def test_a_finalize_outside_is_a_matter_of_scope() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.TRACE):
        sketch.clear()
    sketch.close()
    assert said("RM227", sketch) == []
    assert [line for line, _ in said("RM210", sketch)] == [3]
