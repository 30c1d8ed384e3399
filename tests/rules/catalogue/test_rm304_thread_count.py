from __future__ import annotations

import pytest

from reducer_rules import Op
from reducer_rules.timeline import Index, Operands
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


@pytest.mark.parametrize(
    ("threads", "extents", "variable", "operands", "count"),
    [
        (96, (8, 96), "i", Operands.MEMORY, 1),
        (96, (8, 96), "j", Operands.MEMORY, 0),
        (96, (3, 32), "i", Operands.MEMORY, 0),
        (96, (3, 32), "j", Operands.MEMORY, 1),
        (80, (8, 64), "i", Operands.MEMORY, 1),
        (96, (4, 3, 32), "i", Operands.MEMORY, 1),
        (96, (8, 96), None, None, 1),
        (96, (8, 96), "i", None, 0),
        (96, (8, 96), "i", Operands.COLLECTIVE, 0),
    ],
)
def test_several_outputs_from_0_1_14_on(
    threads: int,
    extents: tuple[int, ...],
    variable: str | None,
    operands: Operands | None,
    count: int,
) -> None:
    sketch = Sketch()
    names = tuple("ijk"[: len(extents)])
    sketch.alloc(shape=(dict(zip(names, extents, strict=True)).get(variable or "", 8),))
    sketch.init()
    with sketch.loop(variables=names, extents=extents):
        index = Index(variable or "A[i]", None, variable)
        sketch.update(indices=(index,), operands=operands)
    sketch.finalize("result")
    assert len(messages("RM304", sketch, on("0.1.15"), threads=threads)) == count


def test_no_collective_without_replication() -> None:
    assert messages("RM304", closed(replication='"none"'), on("0.1.12"), threads=96) == []


def test_v2_and_reducer_compat() -> None:
    ((_, message),) = messages("RM304", v2(), on(None), threads=96)
    assert message.endswith(": TileLang 0.1.14 to 0.1.15 fails to compile it")
    assert messages("RM304", v1(), on("0.1.12", compat=True), threads=96) == []
