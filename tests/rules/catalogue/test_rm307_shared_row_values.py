from __future__ import annotations

import pytest

from reducer_rules import Op, Severity
from reducer_rules.timeline import RowValues, UpdateForm
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on, opened

TOP = RowValues("top", 32, 64, 32)


def over(*values: RowValues | None, op: Op = Op.SUM) -> Sketch:
    """A reducer with one site for each of `values`."""
    sketch = opened(op)
    for each in values:
        with sketch.loop(extents=(32,)):
            sketch.update(UpdateForm.AUGMENTED, op, row_values=each)
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
@pytest.mark.parametrize("op", [Op.SUM, Op.MAX])
def test_how_many_contributions_are_left_out(release: str, op: Op) -> None:
    assert messages("RM307", over(TOP, op=op), on(release)) == [
        (
            3,
            f"TileLang {release} leaves 7 of 8 contributions to `acc` out: 16 threads hold each "
            "value of `top`, and the groups are not combined",
        )
    ]


@pytest.mark.parametrize(
    "values",
    [
        RowValues("top", 128, 4, 32),
        RowValues("top", 8, 512, 32),
        RowValues("top", 5, 7, 32),
        None,
    ],
    ids=["a thread for each row", "all threads for each row", "no whole rounds", "other operands"],
)
def test_rows_that_are_combined(values: RowValues | None) -> None:
    assert messages("RM307", over(values), on("0.1.15")) == []


def test_narrow_elements_leave_fewer_threads_to_a_row() -> None:
    half = RowValues("top", 8, 512, 16)
    ((_, message),) = messages("RM307", over(half), on("0.1.15"))
    assert "leaves 1 of 2 contributions" in message


def test_sites_that_differ_fall_back_to_a_plan_that_combines_all() -> None:
    assert messages("RM307", over(TOP, None), on("0.1.15")) == []
    assert messages("RM307", over(TOP, RowValues("sums", 64, 2, 32)), on("0.1.15")) == []
    assert len(messages("RM307", over(TOP, RowValues("sums", 32, 64, 32)), on("0.1.15"))) == 2


def test_other_releases_and_the_runtime_are_right() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM307", over(TOP), target) == []
    assert messages("RM307", over(TOP), on("0.1.15"), threads=None) == []


def test_on_any_release_it_is_a_note() -> None:
    (finding,) = found("RM307", over(TOP), on(None))
    assert finding.severity is Severity.NOTE
    assert "TileLang 0.1.14 to 0.1.15" in finding.message
