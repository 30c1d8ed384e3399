from __future__ import annotations

from reducer_rules.monoid import Op
from reducer_rules.timeline import UpdateForm
from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_call_to_write_is_given() -> None:
    sketch = Sketch()
    sketch.alloc(op=Op.MAX)
    sketch.update(UpdateForm.COMBINE, Op.MAX)
    (found,) = findings("RM105", sketch)
    assert found.message == "`acc[0]` is updated by a store of its combined value"
    assert found.help == "write `T.reducer_update(acc[0], A[i])`"


def test_other_forms_have_their_own_rules() -> None:
    assert said("RM105", v1()) == []
    assert said("RM105", v2()) == []
