from __future__ import annotations

from reducer_rules.timeline import UpdateForm
from tests.rules.build import Sketch, findings, rfc, said, v1, v2


def test_a_v1_update_between_v2_statements() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.accumulate()
    sketch.finalize()
    (found,) = findings("RM222", sketch)
    assert found.message == (
        "reducer `acc` mixes v1 and v2: augmented assignment is v1, T.reducer_init on line 2 is v2"
    )
    assert (found.span.line, found.help) == (3, "write all of its statements in v2")


def test_a_v2_reducer_with_the_argument() -> None:
    sketch = Sketch()
    sketch.alloc(replication="all")
    sketch.init()
    sketch.contribute()
    sketch.finalize()
    assert said("RM222", sketch) == [
        (2, "reducer `acc` mixes v1 and v2: T.reducer_init is v2, `replication=` on line 1 is v1")
    ]


def test_a_v1_reducer_with_a_destination() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.accumulate()
    sketch.finalize()
    assert said("RM222", sketch) == [
        (
            4,
            "reducer `acc` mixes v1 and v2: a finalize with a destination is v2, T.clear on line "
            "2 is v1",
        )
    ]


def test_shipped_updates_with_an_in_place_finalize() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.contribute()
    sketch.close()
    assert said("RM222", sketch) == [
        (
            4,
            "reducer `acc` mixes v1 and v2: an in-place finalize is v1, T.reducer_init on line 2 "
            "is v2",
        )
    ]


def test_one_dialect_throughout() -> None:
    for sketch in (v1(), v2(), rfc()):
        assert said("RM222", sketch) == []


def test_both_spellings_of_v2_are_v2() -> None:
    sketch = rfc()
    sketch.contribute(form=UpdateForm.SHIPPED)
    assert said("RM222", sketch) == []
