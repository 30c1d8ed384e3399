from __future__ import annotations

from reducer_rules.timeline import Index, LoadForm
from tests.rules.build import Sketch, findings, said

ROW, COLUMN = Index("i"), Index("j")


def test_too_few_indices() -> None:
    sketch = Sketch()
    sketch.alloc((4, 2))
    sketch.update(indices=(ROW,))
    (found,) = findings("RM214", sketch)
    assert found.message == "reducer `acc` has 2 dimensions and is given 1 index"
    assert (found.help, found.label) == ("give one index per dimension", "i")


def test_too_many_indices_in_a_read() -> None:
    sketch = Sketch()
    sketch.alloc((4,))
    sketch.load(indices=(ROW, COLUMN))
    assert said("RM214", sketch) == [(2, "reducer `acc` has 1 dimension and is given 2 indices")]


def test_as_many_as_dimensions() -> None:
    sketch = Sketch()
    sketch.alloc((4, None))
    sketch.update(indices=(ROW, COLUMN))
    sketch.load(LoadForm.WHOLE, indices=())
    assert said("RM214", sketch) == []


def test_an_unknown_rank() -> None:
    sketch = Sketch()
    sketch.alloc(None)
    sketch.update(indices=(ROW, COLUMN))
    assert said("RM214", sketch) == []
