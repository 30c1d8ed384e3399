"""What is counted besides the plans of the acceptance kernels, which test_kernels.py shows."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from reducer_compat import pipeline
from reducer_compat.draft import draft
from reducer_compat.passes import settle
from reducer_compat.passes.prove import Verdict, prove
from tests.compat.counted import assert_counted, counting
from tests.compat.lowering import body, source
from tests.compat.prove.harness import patched
from tests.compat.share import dealt
from tests.compat.test_kernels import CASES
from tests.kernels import Case

EXAMPLES = Path(__file__).parents[3] / "examples"
ARGUMENTS: dict[str, dict[str, int]] = {
    "gemv": {"M": 64, "N": 1024},
    "quantization_scale": {"M": 32, "N": 512},
    "smallest_k": {"M": 4, "N": 256},
    "softmax_statistics": {"M": 16, "N": 256},
}


WIDE = ("two_widths", "gemv_16x128", "three_axes", "seeded", "row_sum_8x128_256", "several")


@pytest.mark.parametrize(
    "case",
    dealt([c for c in CASES if c.name.startswith(WIDE)], hands=3),
    ids=lambda case: case.name,
)
def test_a_wide_plan_is_counted(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", "wide")
    with counting() as verdicts:
        source(case.build())
    assert_counted(verdicts)


@pytest.mark.parametrize("name", dealt(ARGUMENTS, hands=2))
def test_an_example_is_counted(name: str) -> None:
    factory = runpy.run_path(str(EXAMPLES / f"{name}.py"))[name]
    with counting() as verdicts:
        source(factory(**ARGUMENTS[name]))
    assert_counted(verdicts)


SAME_CODE = ("two_widths", "gemv_16x128_128_2", "seeded", "pipelined_epochs", "equal_widths")


@pytest.mark.parametrize(
    ("case", "arch"),
    dealt([c for c in CASES if c.name.startswith(SAME_CODE)], ("sm_80", "sm_90"), hands=5),
    ids=lambda value: getattr(value, "name", value),
)
def test_counting_changes_no_line_of_code(case: Case, arch: str) -> None:
    """The names that contributions carry hinder no pass of TileLang, and are gone at the end."""

    def same(func: Any) -> Any:
        return func

    def nothing(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
        return Verdict("", stage, True, 0, 0, (), 0.0)

    named = body(source(case.build(), arch))
    with patched(tag=same, prove=nothing), mock.patch.object(settle, "pin", dict):
        assert body(source(case.build(), arch)) == named
    assert "reducer_compat" not in named


def test_a_kernel_on_its_way_can_be_printed() -> None:
    """As TileLang's instruments do between passes."""
    texts: list[str] = []

    def printed(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
        texts.append(draft(func).function().script())
        return prove(func, stage, notes)

    with patched(prove=printed):
        source(next(c for c in CASES if c.name == "seeded").build())
    assert len(texts) == 1
    assert pipeline.prove is prove
