from __future__ import annotations

import pytest

from reducer_rules import Op
from tests.rules.build import Sketch, v1, v2
from tests.rules.launched import messages, on, opened


def closed(op: Op = Op.SUM, replication: str = '"all"', shape: tuple[int, ...] = (1,)) -> Sketch:
    sketch = opened(op, replication, shape)
    sketch.accumulate()
    sketch.close()
    return sketch


@pytest.mark.parametrize(
    ("release", "outcome"),
    [
        ("0.1.12", "TileLang 0.1.12 leaves contributions out"),
        ("0.1.13", "TileLang 0.1.13 fails to compile it"),
        ("0.1.15", "TileLang 0.1.15 fails to compile it"),
        (
            None,
            "TileLang 0.1.8 to 0.1.12 leaves contributions out, "
            "TileLang 0.1.13 to 0.1.15 fails to compile it",
        ),
    ],
)
def test_what_becomes_of_it(release: str | None, outcome: str) -> None:
    assert messages("RM304", closed(), on(release), threads=96) == [
        (4, f"the finalize of `acc` combines 96 threads, no power of two: {outcome}")
    ]


def test_every_op() -> None:
    assert len(messages("RM304", closed(Op.MAX), on("0.1.10"), threads=24)) == 1


@pytest.mark.parametrize("threads", [32, 128, 1024, None])
def test_powers_of_two(threads: int | None) -> None:
    assert messages("RM304", closed(), on(None), threads=threads) == []


def test_several_outputs_are_not_judged_from_0_1_14_on() -> None:
    assert len(messages("RM304", closed(shape=(8,)), on("0.1.13"), threads=96)) == 1
    assert messages("RM304", closed(shape=(8,)), on("0.1.14"), threads=96) == []


def test_no_collective_without_replication() -> None:
    assert messages("RM304", closed(replication='"none"'), on("0.1.12"), threads=96) == []


def test_v2_and_reducer_compat() -> None:
    ((_, message),) = messages("RM304", v2(), on(None), threads=96)
    assert message.endswith(": TileLang 0.1.14 to 0.1.15 fails to compile it")
    assert messages("RM304", v1(), on("0.1.12", compat=True), threads=96) == []
