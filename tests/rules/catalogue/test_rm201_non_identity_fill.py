from __future__ import annotations

import pytest

from reducer_rules import Fix
from reducer_rules.catalogue import rule
from reducer_rules.monoid import Op
from reducer_rules.timeline import Fill, InitForm
from tests.rules.build import Sketch, findings, said, v1


def opened(fill: Fill, op: Op | None = Op.SUM, form: InitForm = InitForm.FILL) -> Sketch:
    sketch = Sketch()
    sketch.alloc(op=op)
    sketch.init(form, fill)
    return sketch


def test_a_value_other_than_zero() -> None:
    (found,) = findings("RM201", opened(Fill("1.5", 1.5)))
    assert found.message == (
        "sum reducer `acc` is filled with `1.5`: v1 adds it once per participating thread"
    )
    assert found.help == "write `T.reducer_init(acc, 1.5)` if it should be added once per output"


def test_a_value_that_is_not_known() -> None:
    assert said("RM201", opened(Fill("B[0]"))) == [
        (
            2,
            "sum reducer `acc` is filled with `B[0]`, which is not known to be 0: v1 adds it once "
            "per participating thread",
        )
    ]


def test_it_refuses_what_only_an_unsafe_fix_rewrites() -> None:
    assert rule("RM201").fix is Fix.UNSAFE
    assert findings("RM201", opened(Fill("1", 1)))[0].blocks


@pytest.mark.parametrize("op", [Op.MAX, Op.MIN, None])
def test_a_fill_of_max_or_min_is_a_seed(op: Op | None) -> None:
    assert said("RM201", opened(Fill("1", 1), op)) == []


def test_zero_and_a_declared_seed() -> None:
    assert said("RM201", v1()) == []
    assert said("RM201", opened(Fill("0", 0))) == []
    assert said("RM201", opened(Fill("1", 1), form=InitForm.REDUCER_INIT)) == []
