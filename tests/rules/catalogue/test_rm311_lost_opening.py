from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Init, InitForm, Loop, LoopKind, Operands, Span
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on


def inside(
    stages: int | None = 2,
    staged: bool = True,
    v1: bool = False,
    replication: str | None = None,
    operands: Operands = Operands.MEMORY,
) -> Sketch:
    """A whole epoch in a pipelined loop that stands at line 40, in a serial loop of it."""
    sketch = Sketch()
    sketch.alloc(replication=replication)
    pipelined = Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), stages, staged)
    sketch.context = (pipelined,)
    with sketch.loop(LoopKind.SERIAL, ("r",), (2,)):
        (sketch.clear if v1 else sketch.init)()
        with sketch.loop():
            (sketch.augment if v1 else sketch.update)(operands=operands)
        sketch.finalize(None if v1 else "result")
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_an_epoch_inside_the_pipeline(release: str) -> None:
    assert messages("RM311", inside(), on(release)) == [
        (
            2,
            f"on sm_90 TileLang {release} loses the opening of `acc` when it warp-specializes "
            "the pipelined loop at line 40",
        )
    ]


@pytest.mark.parametrize("release", ["0.1.11", "0.1.12", "0.1.13", "0.1.14", "0.1.15"])
def test_a_replicated_v1_epoch(release: str) -> None:
    assert len(messages("RM311", inside(v1=True, replication='"all"'), on(release))) == 1


def test_v1_epochs_of_other_replication_do_not_compile_before_native_v2() -> None:
    assert messages("RM311", inside(v1=True, replication='"none"'), on("0.1.13")) == []
    assert len(messages("RM311", inside(v1=True, replication='"none"'), on("0.1.14"))) == 1


def behind(extent: int, operands: Operands = Operands.MEMORY) -> Sketch:
    """An epoch behind a pipelined loop that stands at line 40."""
    sketch = Sketch()
    sketch.alloc()
    loop = Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), 2, True)
    sketch.add(Init(ident=2, span=Span(2), form=InitForm.REDUCER_INIT, behind=loop))
    with sketch.loop(LoopKind.PARALLEL, ("i",), (extent,)):
        sketch.update(operands=operands)
    sketch.finalize("result")
    return sketch


def test_an_epoch_behind_the_pipeline() -> None:
    assert len(messages("RM311", behind(64), on("0.1.15"))) == 1


def test_partials_that_not_every_thread_has() -> None:
    assert messages("RM311", behind(64, Operands.ELEMENTWISE), on("0.1.15")) == []
    assert messages("RM311", behind(1536), on("0.1.15")) == []
    assert messages("RM311", inside(operands=Operands.ELEMENTWISE), on("0.1.15")) == []


def test_an_epoch_that_opens_before_the_pipeline_is_right() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL, ("r",), (2,)):
        sketch.init()
        with sketch.loop(LoopKind.PIPELINED, ("k",), (4,)):
            sketch.accumulate()
        sketch.finalize("result")
    assert messages("RM311", sketch, on("0.1.15")) == []


def test_pipelines_that_are_not_warp_specialized() -> None:
    assert messages("RM311", inside(stages=0), on("0.1.15")) == []
    assert messages("RM311", inside(staged=False), on("0.1.15")) == []
    assert len(messages("RM311", inside(stages=None), on("0.1.15"))) == 1
    assert messages("RM311", inside(), on("0.1.15"), warp_specialized=False) == []


def test_other_releases_and_the_runtime() -> None:
    v1 = inside(v1=True, replication='"all"')
    for target in (on("0.1.10"), on("0.1.15", compat=True)):
        assert messages("RM311", v1, target) == []
    (finding,) = found("RM311", inside(), on(None))
    assert finding.severity is Severity.NOTE
