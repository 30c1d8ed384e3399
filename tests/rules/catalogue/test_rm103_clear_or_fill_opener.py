from __future__ import annotations

import math

import pytest

from reducer_rules.monoid import Op
from reducer_rules.timeline import Fill
from tests.rules.build import Sketch, findings, said, v1, v2


def test_a_clear_is_an_opening_at_the_identity() -> None:
    (found,) = findings("RM103", v1())
    assert (found.span.line, found.message) == (2, "reducer `acc` is opened with T.clear")
    assert found.help == "write `T.reducer_init(acc)`"


@pytest.mark.parametrize(
    ("op", "fill", "written"),
    [
        (Op.SUM, Fill("0.0", 0.0), "T.reducer_init(acc)"),
        (Op.SUM, Fill("1", 1), "T.reducer_init(acc, 1)"),
        (Op.MAX, Fill("0", 0), "T.reducer_init(acc, 0)"),
        (Op.MAX, Fill("-T.infinity(dt)", -math.inf), "T.reducer_init(acc)"),
        (Op.MAX, Fill("B[0]"), "T.reducer_init(acc, B[0])"),
        (None, Fill("0", 0), "T.reducer_init(acc, 0)"),
    ],
)
def test_a_fill_is_kept_as_a_seed_unless_it_is_the_identity(
    op: Op | None, fill: Fill, written: str
) -> None:
    sketch = Sketch()
    sketch.alloc(op=op)
    sketch.fill(fill.text, fill.number)
    (found,) = findings("RM103", sketch)
    assert found.message == "reducer `acc` is opened with T.fill"
    assert found.help == f"write `{written}`"


@pytest.mark.parametrize("op", [Op.MAX, None])
def test_a_clear_of_max_or_of_an_unknown_operation_is_a_seed_of_zero(op: Op | None) -> None:
    sketch = Sketch()
    sketch.alloc(op=op)
    sketch.clear()
    assert findings("RM103", sketch)[0].help == "write `T.reducer_init(acc, 0)`"


def test_reducer_init_is_v2() -> None:
    assert said("RM103", v2()) == []
