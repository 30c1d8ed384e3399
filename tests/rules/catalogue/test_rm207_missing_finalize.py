from __future__ import annotations

from reducer_rules.timeline import Condition, EscapeKind, UpdateForm
from tests.rules.build import Sketch, findings, said, v1, v2


def unclosed() -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.clear()
    sketch.accumulate()
    return sketch


def test_the_opening_is_named() -> None:
    (found,) = findings("RM207", unclosed())
    assert (found.span.line, found.message) == (2, "reducer `acc` is never finalized")
    assert found.help == (
        "add `T.finalize_reducer(acc, result)` after the last update, and read `result`"
    )


def test_the_rfc_opens_at_the_allocation() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.contribute(form=UpdateForm.RFC)
    assert said("RM207", sketch) == [(1, "reducer `acc` is never finalized")]


def test_an_arm_without_a_finalize() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.branch(Condition.COMPILE_TIME, 0, ident=9):
        sketch.clear()
        sketch.close()
    with sketch.branch(Condition.COMPILE_TIME, 1, ident=9):
        sketch.clear()
    assert [line for line, _ in said("RM207", sketch)] == [4]


def test_closed_epochs() -> None:
    assert said("RM207", v1()) == []
    assert said("RM207", v2()) == []


def test_a_second_opening_is_told_once() -> None:
    sketch = v1()
    sketch.clear()
    assert said("RM207", sketch) == []
    assert [line for line, _ in said("RM208", sketch)] == [5]


def test_what_escapes_may_be_finalized_elsewhere() -> None:
    sketch = unclosed()
    sketch.escape(EscapeKind.RETURN)
    assert said("RM207", sketch) == []
