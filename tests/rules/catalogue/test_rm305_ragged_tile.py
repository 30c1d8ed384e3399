from __future__ import annotations

import pytest

from reducer_rules.timeline import Index, LoopKind, Operands, UpdateForm
from tests.rules.build import Sketch
from tests.rules.launched import messages, on, opened


def v1(*extents: int, operands: Operands | None = Operands.MEMORY) -> Sketch:
    sketch = opened()
    with sketch.loop(extents=extents):
        sketch.augment(operands=operands)
    return sketch


def v2(*extents: int, operands: Operands | None = Operands.MEMORY) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    with sketch.loop(extents=extents):
        sketch.update(UpdateForm.SHIPPED, operands=operands)
    return sketch


def test_the_loop_and_the_threads() -> None:
    assert messages("RM305", v1(3, 100), on("0.1.13")) == [
        (
            3,
            "TileLang 0.1.13 fails to compile the update of `acc`: a loop of 3x100 does not tile "
            "128 threads",
        )
    ]


@pytest.mark.parametrize(
    ("extents", "failing"),
    [
        ((3, 100), "TileLang 0.1.8 to 0.1.15"),
        ((192,), "TileLang 0.1.8 to 0.1.13"),
        ((8, 96), "TileLang 0.1.14 to 0.1.15"),
    ],
)
def test_which_releases_fail(extents: tuple[int, ...], failing: str) -> None:
    ((_, message),) = messages("RM305", v1(*extents), on(None))
    assert message.startswith(f"{failing} fails to compile")


@pytest.mark.parametrize("extents", [(8,), (100,), (128,), (16, 128), (5, 7)])
def test_tiles_that_compile_everywhere(extents: tuple[int, ...]) -> None:
    assert messages("RM305", v1(*extents), on(None)) == []


def test_v2_is_judged_from_0_1_14_on() -> None:
    assert messages("RM305", v2(192), on(None)) == []
    ((_, message),) = messages("RM305", v2(16, 48), on(None))
    assert message.startswith("TileLang 0.1.14 to 0.1.15 fails to compile")
    assert messages("RM305", v2(16, 48), on("0.1.13")) == []


def test_native_v2_lays_out_no_partials_of_sites_that_differ() -> None:
    differ = v2(8, 96)
    with differ.loop(extents=(8, 32)):
        differ.update(UpdateForm.SHIPPED, operands=Operands.MEMORY)
    assert messages("RM305", differ, on("0.1.15")) == []
    with differ.loop(extents=(8, 96)):
        differ.augment(operands=Operands.MEMORY)
    assert messages("RM305", differ, on("0.1.15")) == []


def test_native_v2_lays_out_no_partials_at_computed_indices() -> None:
    computed = Sketch()
    computed.alloc(shape=(4,))
    computed.init()
    with computed.loop(extents=(8, 96)):
        computed.update(indices=(Index("i // 2"),), operands=Operands.MEMORY)
    assert messages("RM305", computed, on("0.1.15")) == []


def test_fragments() -> None:
    assert messages("RM305", v1(192, operands=Operands.COLLECTIVE), on(None)) == []
    assert len(messages("RM305", v1(192, operands=Operands.ELEMENTWISE), on("0.1.13"))) == 1
    assert messages("RM305", v2(8, 96, operands=Operands.ELEMENTWISE), on("0.1.15")) == []


def test_a_serial_loop_inside_may_change_the_width() -> None:
    sketch = opened()
    with sketch.loop(extents=(96,)), sketch.loop(LoopKind.SERIAL, ("k",), (4,)):
        sketch.augment(operands=Operands.MEMORY)
    assert messages("RM305", sketch, on(None), threads=64) == []


def test_unknown_threads_and_reducer_compat() -> None:
    assert messages("RM305", v1(192), on(None), threads=None) == []
    assert messages("RM305", v1(192), on("0.1.13", compat=True)) == []
