from __future__ import annotations

from reducer_rules.timeline import EscapeKind
from tests.rules.build import findings, said, v1


def test_the_second_name_is_said() -> None:
    sketch = v1()
    sketch.escape(EscapeKind.ALIAS, "total")
    (found,) = findings("RM219", sketch)
    assert found.message == "reducer `acc` is bound to another name `total`"
    assert (found.span.line, found.help) == (5, "write `acc` throughout")


def test_other_escapes() -> None:
    sketch = v1()
    sketch.escape(EscapeKind.RETURN)
    assert said("RM219", sketch) == []
    assert said("RM219", v1()) == []
