from __future__ import annotations

from reducer_rules.timeline import InitForm
from tests.rules.build import Sketch, findings, rfc, said, v1, v2


def default(form: InitForm = InitForm.CLEAR) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.init(form)
    sketch.accumulate()
    sketch.close()
    return sketch


def test_v1_statements_on_a_default_allocation() -> None:
    (found,) = findings("RM102", default())
    assert found.message == (
        "reducer `acc` is allocated with the default replication and used with v1 statements"
    )
    assert found.label == "first v1 statement on line 2"
    assert found.span.line == 1


def test_one_v2_statement_makes_it_mixed() -> None:
    assert said("RM102", default(InitForm.REDUCER_INIT)) == []


def test_other_allocations_and_dialects() -> None:
    assert said("RM102", v1()) == []
    assert said("RM102", v2()) == []
    assert said("RM102", rfc()) == []


def test_an_allocation_alone_has_no_statements() -> None:
    sketch = Sketch()
    sketch.alloc()
    assert said("RM102", sketch) == []
