from __future__ import annotations

from reducer_rules.timeline import EscapeKind
from tests.rules.build import Sketch, findings, rfc, said, v1, v2


def uninitialized() -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.accumulate()
    sketch.close()
    return sketch


def test_the_allocation_is_named() -> None:
    (found,) = findings("RM206", uninitialized())
    assert (found.span.line, found.message) == (1, "reducer `acc` is never initialized")
    assert found.help == "add `T.reducer_init(acc)` before the first update"


def test_it_is_the_only_finding() -> None:
    for code in ("RM207", "RM210", "RM223"):
        assert said(code, uninitialized()) == [], code


def test_an_unused_allocation_has_none_either() -> None:
    sketch = Sketch()
    sketch.alloc()
    assert said("RM206", sketch) == [(1, "reducer `acc` is never initialized")]


def test_an_opening_of_any_kind_will_do() -> None:
    for sketch in (v1(), v2(), rfc()):
        assert said("RM206", sketch) == []


def test_a_finalize_before_the_init() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.close()
    sketch.clear()
    assert said("RM206", sketch) == [(2, "reducer `acc` is finalized before it is initialized")]
    assert said("RM207", sketch) == []


def test_what_escapes_may_be_initialized_elsewhere() -> None:
    sketch = uninitialized()
    sketch.escape(EscapeKind.ARGUMENT)
    assert said("RM206", sketch) == []
