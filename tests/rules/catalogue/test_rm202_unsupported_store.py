from __future__ import annotations

from tests.rules.build import Sketch, findings, said, v1, v2


def test_a_store_into_an_open_epoch() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.store("`*=`")
    sketch.close()
    (found,) = findings("RM202", sketch)
    assert found.message == "reducer `acc` is written by `*=`, which is no contribution"
    assert (found.span.line, found.blocks) == (3, True)


def test_a_store_in_place_of_an_init() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.store()
    sketch.accumulate()
    sketch.close()
    assert said("RM202", sketch) == [
        (2, "reducer `acc` is written by a plain store, which is no contribution")
    ]
    assert said("RM206", sketch) == []


def test_a_store_after_an_in_place_finalize_goes_to_the_result() -> None:
    sketch = v1()
    sketch.store()
    assert said("RM202", sketch) == []


def test_a_store_after_a_finalize_into_a_destination() -> None:
    sketch = v2()
    sketch.store()
    assert said("RM202", sketch) == [
        (5, "reducer `acc` is written after its finalize; its result is in `result`")
    ]


def test_a_store_after_the_next_opening() -> None:
    sketch = v1()
    sketch.clear()
    sketch.store()
    assert [line for line, _ in said("RM202", sketch)] == [6]
