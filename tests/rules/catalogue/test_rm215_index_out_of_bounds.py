from __future__ import annotations

import pytest

from reducer_rules.timeline import Index, LoopKind
from tests.rules.build import Sketch, findings, said

ITERATION = (Index("i", variable="i"),)


@pytest.mark.parametrize("value", [4, 9, -5])
def test_a_static_index_beyond_the_extent(value: int) -> None:
    sketch = Sketch()
    sketch.alloc((4,))
    sketch.update(indices=(Index(str(value), value),))
    (found,) = findings("RM215", sketch)
    assert found.message == f"index `{value}` of reducer `acc` is out of bounds for extent 4"
    assert found.help == "keep the index inside the shape"


@pytest.mark.parametrize("value", [0, 3, -1, -4])
def test_a_static_index_within_the_extent(value: int) -> None:
    sketch = Sketch()
    sketch.alloc((4,))
    sketch.load(indices=(Index(str(value), value),))
    assert said("RM215", sketch) == []


def test_a_parallel_variable_beyond_the_extent() -> None:
    sketch = Sketch()
    sketch.alloc((4,))
    with sketch.loop(extents=(8,)):
        sketch.update(indices=ITERATION)
    assert said("RM215", sketch) == [
        (2, "index `i` of reducer `acc` goes up to 7, out of bounds for extent 4")
    ]


def test_the_second_variable_of_a_nest() -> None:
    sketch = Sketch()
    sketch.alloc((4, 4))
    with sketch.loop(variables=("i", "j"), extents=(4, 5)):
        sketch.update(indices=(*ITERATION, Index("j", variable="j")))
    assert said("RM215", sketch) == [
        (2, "index `j` of reducer `acc` goes up to 4, out of bounds for extent 4")
    ]


def test_a_condition_inside_the_loop_may_keep_it_in_range() -> None:
    sketch = Sketch()
    sketch.alloc((4,))
    with sketch.loop(extents=(8,)), sketch.branch(text="i < 4"):
        sketch.update(indices=ITERATION)
    assert said("RM215", sketch) == []


def test_a_condition_outside_the_loop_does_not() -> None:
    sketch = Sketch()
    sketch.alloc((4,))
    with sketch.branch(text="n > 0"), sketch.loop(extents=(8,)):
        sketch.update(indices=ITERATION)
    assert len(said("RM215", sketch)) == 1


@pytest.mark.parametrize(
    ("kind", "extent", "outputs"),
    [(LoopKind.PARALLEL, None, 4), (LoopKind.SERIAL, 8, 4), (LoopKind.PARALLEL, 8, None)],
)
def test_what_is_not_static(kind: LoopKind, extent: int | None, outputs: int | None) -> None:
    sketch = Sketch()
    sketch.alloc((outputs,))
    with sketch.loop(kind, extents=(extent,)):
        sketch.update(indices=ITERATION)
    assert said("RM215", sketch) == []


def test_an_empty_shape_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc((4, 0))
    sketch.update(indices=(Index("0", 0), Index("0", 0)))
    assert said("RM215", sketch) == [
        (1, "reducer `acc` has extent 0; every extent must be at least 1")
    ]
