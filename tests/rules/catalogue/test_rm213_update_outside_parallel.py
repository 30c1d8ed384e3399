from __future__ import annotations

from reducer_rules.timeline import LoopKind
from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_loop_to_write_is_given() -> None:
    sketch = Sketch()
    with sketch.loop(LoopKind.SERIAL):
        sketch.augment()
    (found,) = findings("RM213", sketch)
    assert found.message == (
        "`acc[0]` is updated outside any T.Parallel loop, so how often it counts is undefined"
    )
    assert found.help == "wrap it in `for _ in T.Parallel(1):` if it should count once"


def test_an_update_after_the_finalize_is_told_once() -> None:
    sketch = v1()
    sketch.augment()
    assert said("RM213", sketch) == []
    assert [line for line, _ in said("RM205", sketch)] == [5]


def test_a_parallel_loop_at_any_depth_will_do() -> None:
    sketch = Sketch()
    with sketch.loop(), sketch.branch(), sketch.loop(LoopKind.SERIAL):
        sketch.update()
    assert said("RM213", sketch) == []
    assert said("RM213", v1()) == []
    assert said("RM213", v2()) == []
