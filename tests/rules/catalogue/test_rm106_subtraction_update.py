from __future__ import annotations

from reducer_rules.monoid import Op
from reducer_rules.timeline import UpdateForm
from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_value_is_negated() -> None:
    sketch = Sketch()
    sketch.update(UpdateForm.SUBTRACT, Op.SUM)
    (found,) = findings("RM106", sketch)
    assert found.message == "`acc[0]` is updated by subtraction"
    assert found.help == "write `T.reducer_update(acc[0], -A[i])`"


def test_other_forms_have_their_own_rules() -> None:
    assert said("RM106", v1()) == []
    assert said("RM106", v2()) == []
