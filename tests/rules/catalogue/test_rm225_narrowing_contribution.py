from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.monoid import Op
from reducer_rules.timeline import UpdateForm
from tests.rules.build import Sketch, findings, said


def contributing(dtype: str, contribution: str | None, form: UpdateForm) -> Sketch:
    sketch = Sketch()
    sketch.alloc(dtype=dtype)
    combine = None if form in (UpdateForm.SHIPPED, UpdateForm.RFC) else Op.SUM
    sketch.update(form, combine, contribution_dtype=contribution)
    return sketch


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_wide_contribution_is_a_warning_and_no_refusal(dtype: str) -> None:
    (found,) = findings("RM225", contributing(dtype, "float32", UpdateForm.AUGMENTED))
    assert found.message == (
        f"`acc[0]` is {dtype} and its contribution float32: v2 rounds the contribution before it "
        "is combined, v1 rounded after"
    )
    assert (
        found.help == "allocate the reducer in the dtype of its contributions, and cast the result"
    )
    assert (found.severity, found.blocks) == (Severity.WARNING, False)


@pytest.mark.parametrize(
    ("dtype", "contribution"),
    [("float16", "float16"), ("float16", None), ("float32", "float32"), ("float32", "float64")],
)
def test_as_wide_as_the_reducer(dtype: str, contribution: str | None) -> None:
    assert said("RM225", contributing(dtype, contribution, UpdateForm.COMBINE)) == []


@pytest.mark.parametrize("form", [UpdateForm.SHIPPED, UpdateForm.RFC])
def test_v2_code_has_been_rounding_already(form: UpdateForm) -> None:
    assert said("RM225", contributing("float16", "float32", form)) == []
