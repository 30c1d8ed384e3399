from __future__ import annotations

import pytest

from reducer_rules.timeline import Index, Operands
from tests.rules.build import Sketch
from tests.rules.launched import messages, on


def summed(
    outputs: int,
    extents: tuple[int, ...],
    variable: str | None,
    operands: Operands | None = Operands.MEMORY,
) -> Sketch:
    sketch = Sketch()
    sketch.alloc(shape=(outputs,))
    sketch.init()
    with sketch.loop(variables=tuple("ijk"[: len(extents)]), extents=extents):
        index = Index(variable or "A[i]", None, variable)
        sketch.update(indices=(index,), operands=operands)
    sketch.finalize("result")
    return sketch


def test_an_index_that_is_data() -> None:
    assert messages("RM316", summed(512, (128,), None), on("0.1.15")) == [
        (
            1,
            "`acc` has 512 outputs, and every thread would hold a partial of each: TileLang 0.1.15 "
            "fails to compile more than 256",
        )
    ]


@pytest.mark.parametrize(
    ("outputs", "extents", "variable", "operands", "count"),
    [
        (256, (128,), None, Operands.MEMORY, 0),
        (257, (128,), None, None, 1),
        (512, (512, 8), "i", Operands.MEMORY, 1),
        (512, (512, 8), "i", Operands.ELEMENTWISE, 0),
        (512, (512, 8), "i", None, 0),
        (600, (4, 600), "j", Operands.MEMORY, 0),
    ],
)
def test_which_plans_are_wide(
    outputs: int,
    extents: tuple[int, ...],
    variable: str | None,
    operands: Operands | None,
    count: int,
) -> None:
    sketch = summed(outputs, extents, variable, operands)
    assert len(messages("RM316", sketch, on("0.1.14"))) == count


def test_older_releases_and_reducer_compat() -> None:
    sketch = summed(512, (128,), None)
    assert messages("RM316", sketch, on("0.1.13")) == []
    assert messages("RM316", sketch, on("0.1.15", compat=True)) == []
