from __future__ import annotations

from dataclasses import replace

import pytest

from reducer_rules.timeline import Loop, LoopKind, Span
from tests.rules.build import Sketch, v2
from tests.rules.launched import messages, on, opened

PIPELINED = LoopKind.PIPELINED


def pipelined(stages: int | None = 2, kind: LoopKind = PIPELINED) -> Sketch:
    sketch = opened()
    loop = Loop(99, kind, Span(3), ("k",), (4,), stages)
    sketch.context = (loop,)
    with sketch.loop(extents=(128,)):
        sketch.augment()
    sketch.context = ()
    sketch.close()
    return sketch


@pytest.mark.parametrize(
    ("release", "lost"),
    [
        ("0.1.11", "the clear of `acc`"),
        ("0.1.12", "the clear of `acc` and its result"),
        ("0.1.13", "the clear of `acc` and its result"),
    ],
)
def test_what_each_release_loses(release: str, lost: str) -> None:
    assert messages("RM303", pipelined(), on(release)) == [
        (
            2,
            f"on sm_90 TileLang {release} loses {lost} when it warp-specializes the pipelined loop "
            "at line 3",
        )
    ]


def test_any_release() -> None:
    ((_, message),) = messages("RM303", pipelined(), on(None))
    assert message.startswith(
        "on sm_90 TileLang 0.1.11 to 0.1.13 loses the clear of `acc`, and from 0.1.12 on its result"
    )


@pytest.mark.parametrize("release", ["0.1.8", "0.1.10", "0.1.14", "0.1.15"])
def test_releases_that_are_right(release: str) -> None:
    assert messages("RM303", pipelined(), on(release)) == []


def test_stages() -> None:
    assert len(messages("RM303", pipelined(1), on("0.1.13"))) == 1
    assert len(messages("RM303", pipelined(None), on("0.1.13"))) == 1
    assert messages("RM303", pipelined(0), on("0.1.13")) == []
    assert messages("RM303", pipelined(kind=LoopKind.SERIAL), on("0.1.13")) == []


def test_warp_specialization_turned_off() -> None:
    assert messages("RM303", pipelined(), on("0.1.13"), warp_specialized=False) == []
    assert len(messages("RM303", pipelined(), on("0.1.13"), warp_specialized=True)) == 1


def test_a_clear_inside_the_pipeline_is_not_judged() -> None:
    sketch = pipelined()
    loop = sketch.events[2].context[0]
    sketch.events[1] = replace(sketch.events[1], context=(loop,))
    assert messages("RM303", sketch, on("0.1.13")) == []


def test_v2_is_silent() -> None:
    assert messages("RM303", v2(), on(None)) == []
