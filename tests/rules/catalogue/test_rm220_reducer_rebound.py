from __future__ import annotations

from reducer_rules.timeline import EscapeKind
from tests.rules.build import findings, said, v1


def test_the_second_binding_is_named() -> None:
    sketch = v1()
    sketch.escape(EscapeKind.REBIND)
    (found,) = findings("RM220", sketch)
    assert found.message == "the name of reducer `acc` is bound again to something else"
    assert (found.span.line, found.help) == (5, "give the other value a name of its own")


def test_what_the_name_does_afterwards_is_not_told() -> None:
    sketch = v1()
    sketch.escape(EscapeKind.REBIND)
    sketch.escape(EscapeKind.ALIAS)
    sketch.escape(EscapeKind.RETURN)
    assert said("RM218", sketch) == []
    assert said("RM219", sketch) == []


def test_other_escapes() -> None:
    sketch = v1()
    sketch.escape(EscapeKind.ALIAS)
    assert said("RM220", sketch) == []
    assert said("RM220", v1()) == []
