from __future__ import annotations

from reducer_rules import Target
from reducer_rules.monoid import Op
from reducer_rules.timeline import Condition, UpdateForm
from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_declared_operation_is_compared() -> None:
    sketch = Sketch()
    sketch.alloc(op=Op.SUM)
    sketch.update(UpdateForm.COMBINE, Op.MAX)
    (found,) = findings("RM203", sketch)
    assert found.message == "`acc[0]` is combined by max, and reducer `acc` by sum"
    assert found.help == 'allocate `acc` with op="max", or contribute to sum'


def test_v2_updates_name_no_operation() -> None:
    assert said("RM203", v1()) == []
    assert said("RM203", v2()) == []


def test_an_operation_that_the_target_lacks_is_told_once() -> None:
    sketch = Sketch()
    sketch.alloc(op=Op.PROD)
    sketch.augment()
    assert said("RM203", sketch) == []
    assert len(said("RM217", sketch)) == 1
    assert len(said("RM203", sketch, Target(compat=True))) == 1


def several(condition: Condition) -> Sketch:
    sketch = Sketch()
    sketch.alloc(op=None, op_text="op")
    for arm, combine in enumerate((Op.SUM, Op.MAX)):
        with sketch.branch(condition, arm, 'op == "sum"', ident=9):
            sketch.update(UpdateForm.COMBINE, combine)
    return sketch


def test_an_unknown_operation_may_be_chosen_by_the_trace() -> None:
    assert said("RM203", several(Condition.COMPILE_TIME)) == []


def test_an_unknown_operation_is_one_at_run_time() -> None:
    assert said("RM203", several(Condition.UNIFORM)) == [
        (3, "reducer `acc` is combined by max here and by sum on line 2")
    ]
