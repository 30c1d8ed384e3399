from __future__ import annotations

import pytest

from reducer_rules import Op, Severity
from reducer_rules.timeline import Index, Init, InitForm, Loop, LoopKind, Operands, Span
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on

LOOP = Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), 2, True)
PLAIN = Index("j", None, "j")


def values(
    op: Op | None = Op.SUM,
    index: Index = PLAIN,
    outputs: int = 128,
    parts: tuple[tuple[str, ...], ...] = (("i",),),
    stages: int = 2,
) -> Sketch:
    """Updates from a fragment of 32 in a pipelined loop at line 40, opened before it."""
    sketch = Sketch()
    sketch.alloc(shape=(outputs,), op=op)
    sketch.init()
    sketch.context = (LOOP._replace(stages=stages),)
    with sketch.loop(variables=("i", "j"), extents=(32, 64)):
        sketch.update(indices=(index,), operands=Operands.COLLECTIVE, part_tiles=parts)
    sketch.context = ()
    sketch.finalize("result")
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_indices_of_some_of_the_outputs(release: str) -> None:
    assert messages("RM314", values(), on(release)) == [
        (
            3,
            f"on sm_90 TileLang {release} counts contributions to `acc` several times: the 128 "
            "consumers hold copies of a smaller fragment",
        )
    ]


@pytest.mark.parametrize("op", [Op.SUM, Op.BITXOR, None])
def test_operations_that_mind(op: Op | None) -> None:
    assert len(messages("RM314", values(op, Index("j // 2"), 64), on("0.1.15"))) == 1


@pytest.mark.parametrize("op", [Op.MAX, Op.MIN, Op.BITAND, Op.BITOR])
def test_operations_that_do_not(op: Op) -> None:
    assert messages("RM314", values(op), on("0.1.15")) == []


def test_a_plan_by_the_indices_and_fragments_that_fill_the_block() -> None:
    assert messages("RM314", values(outputs=64), on("0.1.15")) == []
    assert messages("RM314", values(parts=()), on("0.1.15")) == []
    assert messages("RM314", values(), on("0.1.15"), threads=32) == []


def test_kernels_that_are_not_warp_specialized() -> None:
    assert messages("RM314", values(stages=0), on("0.1.15")) == []
    assert messages("RM314", values(), on("0.1.15"), warp_specialized=False) == []


def test_an_epoch_that_opens_behind_a_pipeline_is_another_matter() -> None:
    sketch = values()
    opened = Init(ident=2, span=Span(2), form=InitForm.REDUCER_INIT, behind=LOOP)
    sketch.events[1] = opened
    assert messages("RM314", sketch, on("0.1.15")) == []


def test_other_releases_and_the_runtime() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM314", values(), target) == []
    (finding,) = found("RM314", values(), on(None))
    assert finding.severity is Severity.NOTE
