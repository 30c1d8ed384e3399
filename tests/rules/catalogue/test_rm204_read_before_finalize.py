from __future__ import annotations

from tests.rules.build import Sketch, findings, said, v1, v2


def test_a_read_of_an_open_reducer() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.accumulate()
    sketch.load()
    sketch.close()
    (found,) = findings("RM204", sketch)
    assert (found.span.line, found.message) == (4, "reducer `acc` is read before it is finalized")
    assert found.help == "finalize first, and read the result"


def test_a_read_by_its_own_contribution() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.accumulate()
    sketch.load(holder=3)
    sketch.close()
    assert said("RM204", sketch) == [(4, "reducer `acc` is read by its own contribution")]


def test_a_read_of_a_reducer_that_has_a_destination() -> None:
    sketch = v2()
    sketch.load()
    (found,) = findings("RM204", sketch)
    assert found.message == ("reducer `acc` is read after its finalize; its result is in `result`")
    assert found.help == "read `result`"


def test_a_read_after_an_in_place_finalize() -> None:
    sketch = v1()
    sketch.load()
    assert said("RM204", sketch) == []


def test_a_missing_finalize_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.load()
    assert said("RM204", sketch) == []
    assert [line for line, _ in said("RM207", sketch)] == [2]


def test_a_store_of_its_own_rescaled_value_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.store()
    sketch.load(holder=3)
    sketch.close()
    assert said("RM204", sketch) == []
    assert [line for line, _ in said("RM202", sketch)] == [3]
