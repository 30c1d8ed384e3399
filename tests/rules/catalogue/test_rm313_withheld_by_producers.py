from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Init, InitForm, Loop, LoopKind, Operands, Span
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on

LOOP = Loop(99, LoopKind.PIPELINED, Span(40), ("k",), (4,), 2, True)


def turn(opening: bool, updates: bool) -> Sketch:
    """An epoch in each turn of a pipelined loop at line 40, of which something is withheld."""
    sketch = Sketch()
    sketch.alloc()
    sketch.context = (LOOP,)
    withheld = LOOP if opening else None
    opened = Init(
        ident=2, span=Span(2), context=(LOOP,), form=InitForm.REDUCER_INIT, withheld=withheld
    )
    sketch.add(opened)
    with sketch.loop():
        sketch.update(operands=Operands.MEMORY, withheld=LOOP if updates else None)
    sketch.finalize("result")
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_an_opening(release: str) -> None:
    assert messages("RM313", turn(True, False), on(release)) == [
        (
            2,
            f"on sm_90 TileLang {release} keeps the opening of `acc` to the producers when it "
            "warp-specializes the pipelined loop at line 40",
        )
    ]


def test_updates() -> None:
    assert messages("RM313", turn(False, True), on("0.1.15")) == [
        (
            3,
            "on sm_90 TileLang 0.1.15 keeps this update of `acc`, or a copy that it reads, to the "
            "producers when it warp-specializes the pipelined loop at line 40",
        )
    ]
    assert messages("RM313", turn(False, False), on("0.1.15")) == []


def test_kernels_that_are_not_warp_specialized() -> None:
    assert messages("RM313", turn(True, True), on("0.1.15"), warp_specialized=False) == []


def test_other_releases_and_the_runtime() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM313", turn(True, True), target) == []
    severities = {finding.severity for finding in found("RM313", turn(True, True), on(None))}
    assert severities == {Severity.NOTE}
