from __future__ import annotations

from reducer_rules import Target
from reducer_rules.timeline import Dialect, UpdateForm
from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_call_to_write_is_given() -> None:
    (found,) = findings("RM104", v1())
    assert found.message == "`acc[0]` is updated by augmented assignment"
    assert found.help == "write `T.reducer_update(acc[0], A[i])`"
    assert found.span.line == 3


def test_the_call_is_in_the_dialect_asked_for() -> None:
    (found,) = findings("RM104", v1(), Target(compat=True, dialect=Dialect.RFC))
    assert found.help == "write `T.reducer_update(acc, 0, A[i])`"


def test_other_forms_have_their_own_rules() -> None:
    sketch = Sketch()
    for form in (UpdateForm.SUBTRACT, UpdateForm.COMBINE, UpdateForm.RFC):
        sketch.update(form)
    assert said("RM104", sketch) == []
    assert said("RM104", v2()) == []
