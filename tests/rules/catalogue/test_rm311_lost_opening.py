from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Index, Init, InitForm, Loop, LoopKind, Operands, Span
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


def summed(
    extents: tuple[int, ...],
    keeps: str,
    tile: tuple[str, ...] = (),
    shape: tuple[int, ...] | None = None,
) -> Sketch:
    """Sums behind a pipelined loop of what a nest of `i, j` goes over, of the axes named.

    `tile` are the axes of a fragment; without it the nest reads memory.
    """
    sizes = dict(zip("ij", extents, strict=False))
    sketch = Sketch()
    sketch.alloc(shape=shape or tuple(sizes[axis] for axis in keeps) or (1,))
    loop = Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), 2, True)
    sketch.add(Init(ident=2, span=Span(2), form=InitForm.REDUCER_INIT, behind=loop))
    indices = tuple(Index(axis, None, axis) for axis in keeps) or (Index("0", 0),)
    with sketch.loop(LoopKind.PARALLEL, tuple(sizes), extents):
        operands = Operands.ELEMENTWISE if tile else Operands.MEMORY
        sketch.update(indices=indices, operands=operands, tile=tile)
    sketch.finalize("result")
    return sketch


@pytest.mark.parametrize(
    ("sketch", "wide"),
    [
        (summed((1536,), ""), True),
        (summed((1536,), "i"), False),
        (summed((64,), "i"), True),
        (summed((3, 128), "i"), True),
        (summed((3, 128), "j"), False),
        (summed((6, 64), "i"), False),
        (summed((32, 16), "i"), True),
        (summed((32, 16), "i", ("i", "j")), False),
        (summed((32, 16), "i", ("i", "j"), (64,)), True),
        (summed((48,), "i", ("i",)), True),
        (summed((64,), "i", ("i",)), False),
        (summed((128, 4), "j", ("i", "j")), True),
        (summed((128, 4), "i", ("i", "j")), False),
        (summed((128, 4), "", ("i", "j")), True),
        (summed((16, 64), "", ("i", "j")), False),
    ],
)
def test_partials_that_every_thread_has(sketch: Sketch, wide: bool) -> None:
    assert len(messages("RM311", sketch, on("0.1.15"))) == wide


def test_a_computed_index_and_two_loops_make_every_thread_have_them() -> None:
    computed = inside(operands=Operands.COLLECTIVE)
    assert messages("RM311", computed, on("0.1.15")) == []
    for indices in ((Index("r + 1"),), (Index("i // 2"),)):
        sketch = Sketch()
        sketch.alloc(shape=(8,))
        sketch.context = (Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), 2, True),)
        sketch.init()
        with sketch.loop():
            sketch.update(indices=indices, operands=Operands.COLLECTIVE)
        assert len(messages("RM311", sketch, on("0.1.15"))) == 1
    with computed.loop():
        computed.update(operands=Operands.COLLECTIVE)
    assert len(messages("RM311", computed, on("0.1.15"))) == 1


def test_an_epoch_that_opens_before_the_pipeline_is_right() -> None:
    sketch = Sketch()
    sketch.alloc()
    with sketch.loop(LoopKind.SERIAL, ("r",), (2,)):
        sketch.init()
        with sketch.loop(LoopKind.PIPELINED, ("k",), (4,)):
            sketch.accumulate()
        sketch.finalize("result")
    assert messages("RM311", sketch, on("0.1.15")) == []


def test_a_pipeline_without_a_copy_by_tma_is_not_divided_by_native_v2() -> None:
    sketch = Sketch()
    sketch.alloc(replication='"all"')
    loop = Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), 2, True, by_tma=False)
    sketch.context = (loop,)
    sketch.clear()
    with sketch.loop():
        sketch.augment(operands=Operands.MEMORY)
    assert messages("RM311", sketch, on("0.1.15")) == []
    assert len(messages("RM311", sketch, on("0.1.13"))) == 1


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
