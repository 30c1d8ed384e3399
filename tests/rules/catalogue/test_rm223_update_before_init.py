from __future__ import annotations

from reducer_rules.timeline import LoopKind
from tests.rules.build import Sketch, findings, rfc, said, v1, v2


def late() -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.contribute()
    sketch.contribute()
    sketch.init()
    sketch.finalize()
    return sketch


def test_the_first_of_them_is_told() -> None:
    (found,) = findings("RM223", late())
    assert found.message == "`acc[0]` is updated before reducer `acc` is initialized"
    assert (found.span.line, found.help) == (2, "move the init above the first update")


def test_a_misplaced_init_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.contribute()
    sketch.finalize()
    sketch.init()
    assert [line for line, _ in said("RM223", sketch)] == [2]
    for code in ("RM206", "RM207", "RM210"):
        assert said(code, sketch) == [], code


def test_an_init_at_the_end_of_a_loop() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL):
        sketch.contribute()
        sketch.finalize()
        sketch.init()
    assert [line for line, _ in said("RM223", sketch)] == [2]


def test_an_init_in_a_loop_with_the_finalize_outside_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL):
        sketch.accumulate()
        sketch.clear()
    sketch.close()
    assert [line for line, _ in said("RM223", sketch)] == [2]
    assert said("RM210", sketch) == []


def test_openings_that_come_first() -> None:
    for sketch in (v1(), v2(), rfc()):
        assert said("RM223", sketch) == []
