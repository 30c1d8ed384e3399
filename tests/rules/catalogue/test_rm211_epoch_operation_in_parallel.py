from __future__ import annotations

from reducer_rules.timeline import LoopKind
from tests.rules.build import Sketch, findings, said, v1


def test_a_finalize_inside_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    with sketch.loop():
        sketch.augment()
        sketch.close()
    (found,) = findings("RM211", sketch)
    assert found.message == "reducer `acc` is finalized inside a T.Parallel loop"
    assert (found.span.line, found.help) == (4, "move it out of the T.Parallel loop")
    assert said("RM210", sketch) == []


def test_an_init_inside_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop():
        sketch.init()
        sketch.update()
    sketch.finalize()
    assert said("RM211", sketch) == [(2, "reducer `acc` is initialized inside a T.Parallel loop")]
    assert said("RM210", sketch) == []


def test_updates_belong_inside() -> None:
    assert said("RM211", v1()) == []


def test_a_serial_loop_is_none_of_it() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL):
        sketch.init()
        sketch.finalize()
    assert said("RM211", sketch) == []
