"""How a reducer is spelled, and how an update is spelled in v2."""

from __future__ import annotations

import pytest

from reducer_rules.spelling import update_call, v1_events, v1_statements, v2_events
from reducer_rules.timeline import Dialect, Index, Update, UpdateForm
from tests.rules.build import Sketch, rfc, v1, v2

ROW, COLUMN = Index("i", variable="i"), Index("j + 1")


def idents(events: tuple[object, ...]) -> list[int]:
    return [event.ident for event in events]  # type: ignore[attr-defined]


def test_what_only_one_dialect_accepts() -> None:
    assert idents(v1_events(v1().timeline)) == [1, 2, 3, 4]
    assert idents(v1_statements(v1().timeline)) == [2, 3, 4]
    assert idents(v2_events(v1().timeline)) == []
    assert idents(v1_events(v2().timeline)) == []
    assert idents(v2_events(v2().timeline)) == [2, 3, 4]


def test_an_in_place_finalize_belongs_to_the_rfc_too() -> None:
    assert idents(v1_events(rfc().timeline)) == []
    assert idents(v2_events(rfc().timeline)) == [2]


@pytest.mark.parametrize(
    ("form", "indices", "contribution", "dialect", "expected"),
    [
        (UpdateForm.AUGMENTED, (ROW,), "A[i]", None, "T.reducer_update(acc[i], A[i])"),
        (
            UpdateForm.AUGMENTED,
            (ROW, COLUMN),
            "v",
            Dialect.RFC,
            "T.reducer_update(acc, (i, j + 1), v)",
        ),
        (UpdateForm.AUGMENTED, (ROW,), "v", Dialect.RFC, "T.reducer_update(acc, i, v)"),
        (UpdateForm.SUBTRACT, (ROW,), "v", None, "T.reducer_update(acc[i], -v)"),
        (UpdateForm.SUBTRACT, (ROW,), "A[i, 0]", None, "T.reducer_update(acc[i], -A[i, 0])"),
        (UpdateForm.SUBTRACT, (ROW,), "a + b", None, "T.reducer_update(acc[i], -(a + b))"),
        (UpdateForm.COMBINE, (), "", None, "T.reducer_update(acc[...], value)"),
        (UpdateForm.COMBINE, (ROW,), "x" * 41, None, "T.reducer_update(acc[i], value)"),
        (UpdateForm.COMBINE, (ROW,), "a\n+ b", None, "T.reducer_update(acc[i], value)"),
    ],
)
def test_the_call_that_v2_wants(
    form: UpdateForm,
    indices: tuple[Index, ...],
    contribution: str,
    dialect: Dialect | None,
    expected: str,
) -> None:
    sketch = Sketch()
    sketch.update(form, indices=indices, contribution=contribution)
    (update,) = sketch.timeline.of(Update)
    assert update_call("acc", update, dialect) == expected
