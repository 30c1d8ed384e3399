from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Loop, LoopKind, Span
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on, opened

PIPELINED = LoopKind.PIPELINED


def pipelined(sketch: Sketch, stages: int | None = 2, staged: bool = True) -> Sketch:
    """Adds an update in a pipelined loop that stands at line 40."""
    outer = sketch.context
    sketch.context = (*outer, Loop(99, PIPELINED, Span(40), ("k",), (4,), stages, staged))
    sketch.accumulate()
    sketch.context = outer
    return sketch


def before() -> Sketch:
    sketch = opened()
    sketch.accumulate()
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_an_update_before_the_pipeline(release: str) -> None:
    assert messages("RM309", pipelined(before()), on(release)) == [
        (
            3,
            f"on sm_90 TileLang {release} loses contributions to `acc` when it "
            "warp-specializes the pipelined loop at line 40",
        )
    ]


def test_updates_after_it_or_in_another_one_are_right() -> None:
    after = pipelined(opened())
    after.accumulate()
    assert messages("RM309", after, on("0.1.15")) == []
    assert messages("RM309", pipelined(pipelined(opened())), on("0.1.15")) == []


def test_an_epoch_that_ends_before_the_pipeline_is_right() -> None:
    sketch = before()
    sketch.finalize(None)
    sketch.clear()
    assert messages("RM309", pipelined(sketch), on("0.1.15")) == []
    again = pipelined(before())
    again.finalize(None)
    assert len(messages("RM309", again, on("0.1.15"))) == 1


def test_a_loop_around_both() -> None:
    sketch = opened()
    with sketch.loop(LoopKind.SERIAL, ("r",), (2,)):
        sketch.accumulate()
        pipelined(sketch)
    assert len(messages("RM309", sketch, on("0.1.15"))) == 1


def test_pipelines_that_are_not_warp_specialized() -> None:
    assert messages("RM309", pipelined(before(), stages=0), on("0.1.15")) == []
    assert messages("RM309", pipelined(before(), staged=False), on("0.1.15")) == []
    assert len(messages("RM309", pipelined(before(), stages=None), on("0.1.15"))) == 1
    assert messages("RM309", pipelined(before()), on("0.1.15"), warp_specialized=False) == []


def test_other_releases_and_the_runtime() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM309", pipelined(before()), target) == []
    (finding,) = found("RM309", pipelined(before()), on(None))
    assert finding.severity is Severity.NOTE
