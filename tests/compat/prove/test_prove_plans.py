"""Every acceptance kernel and example is counted, at both stages, and none is refused."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reducer_compat
from reducer_compat import pipeline
from reducer_compat.draft import draft
from reducer_compat.passes.prove import Verdict, prove
from tests.compat.lowering import body, source
from tests.compat.prove.harness import patched
from tests.compat.test_kernels import CASES, supported
from tests.kernels import Case

EXAMPLES = Path(__file__).parents[3] / "examples"
ARGUMENTS: dict[str, dict[str, int]] = {
    "gemv": {"M": 64, "N": 1024},
    "quantization_scale": {"M": 32, "N": 512},
    "smallest_k": {"M": 4, "N": 256},
    "softmax_statistics": {"M": 16, "N": 256},
}


def counts(build: Callable[[], Any], arch: str = "sm_80") -> tuple[Verdict, ...]:
    """The verdicts of one compilation: two for each kernel that the function launches."""
    last = reducer_compat.status().counts[-1:]
    source(build(), arch)
    found = reducer_compat.status().counts
    return found[1 + max((k for k, one in enumerate(found) if one in last), default=-1) :]


def assert_counted(verdicts: tuple[Verdict, ...]) -> None:
    half = len(verdicts) // 2
    assert [verdict.stage for verdict in verdicts] == ["planned"] * half + ["lowered"] * half
    assert half > 0
    for verdict in verdicts:
        assert verdict.counted, str(verdict)
        assert verdict.contributions > 0
        assert verdict.slots > 0
        assert not any("given up" in note for note in verdict.notes), str(verdict)


@pytest.mark.parametrize("case", [c for c in CASES if supported(c)], ids=lambda case: case.name)
def test_a_kernel_is_counted_before_and_after_lowering(case: Case) -> None:
    assert_counted(counts(case.build))


WARP_SPECIALIZED = ("gemv", "serial", "pipelined", "epoch", "two_axes", "many")


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if supported(c) and c.name.startswith(WARP_SPECIALIZED)],
    ids=lambda case: case.name,
)
def test_a_warp_specialized_kernel_is_counted(case: Case) -> None:
    assert_counted(counts(case.build, "sm_90"))


WIDE = ("two_widths", "gemv_16x128", "three_axes", "seeded", "row_sum_8x128_256", "several")


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name.startswith(WIDE)], ids=lambda case: case.name
)
def test_a_wide_plan_is_counted(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", "wide")
    assert_counted(counts(case.build))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_example_is_counted(name: str) -> None:
    factory = runpy.run_path(str(EXAMPLES / f"{name}.py"))[name]
    assert_counted(counts(lambda: factory(**ARGUMENTS[name])))


SAME_CODE = ("two_widths", "gemv_16x128_128_2", "seeded", "pipelined_epochs", "equal_widths")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name.startswith(SAME_CODE)], ids=lambda case: case.name
)
def test_counting_changes_no_line_of_code(case: Case, arch: str) -> None:
    """The names that contributions carry hinder no pass of TileLang, and are gone at the end."""

    def same(func: Any) -> Any:
        return func

    def nothing(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
        return Verdict("", stage, True, 0, 0, (), 0.0)

    named = body(source(case.build(), arch))
    with patched(tag=same, pin=same, prove=nothing):
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
    assert len(texts) == 2
    assert pipeline.prove is prove
