from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Index, LoopKind, Operands
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on


def sites(
    *places: str, outputs: int | None = 384, loops: int = 1, operands: Operands = Operands.MEMORY
) -> Sketch:
    """An epoch with an update at each place, in each of `loops` parallel loops over `i`."""
    sketch = Sketch()
    sketch.alloc(shape=(outputs,))
    sketch.init()
    for _ in range(loops):
        with sketch.loop(LoopKind.PARALLEL, ("i",), (outputs or 384,)):
            for place in places:
                index = Index(place, variable=place if place == "i" else None)
                sketch.update(indices=(index,), operands=operands)
    sketch.finalize("result")
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_two_updates_at_different_indices(release: str) -> None:
    assert messages("RM312", sites("0", "i"), on(release)) == [
        (
            4,
            f"TileLang {release} counts the update of `acc` at line 3 by the indices of this one: "
            "the result is wrong, or an internal error",
        )
    ]


def test_a_loop_over_fragments() -> None:
    fragments = sites("0", "i", outputs=4, operands=Operands.ELEMENTWISE)
    assert messages("RM312", fragments, on("0.1.15")) == [
        (
            4,
            "TileLang 0.1.15 counts the update of `acc` at line 3 by the indices of this one: "
            "the result is wrong",
        )
    ]


@pytest.mark.parametrize("places", [("i", "0"), ("0", "2 - i"), ("i", "i")])
def test_a_last_update_without_a_plan_of_its_own(places: tuple[str, str]) -> None:
    fragments = sites(*places, outputs=4, operands=Operands.ELEMENTWISE)
    assert messages("RM312", fragments, on("0.1.15")) == []


def test_an_axis_of_one_needs_no_variable() -> None:
    def places(columns: int) -> Sketch:
        sketch = Sketch()
        sketch.alloc(shape=(4, columns))
        sketch.init()
        with sketch.loop(LoopKind.PARALLEL, ("i", "j"), (4, 8)):
            for index in (Index("0", 0), Index("i", None, "i")):
                indices = (index, Index("k % 1"))
                sketch.update(indices=indices, operands=Operands.COLLECTIVE)
        return sketch

    assert len(messages("RM312", places(1), on("0.1.15"))) == 1
    assert messages("RM312", places(2), on("0.1.15")) == []


def test_an_index_of_some_of_the_outputs_is_no_plan() -> None:
    sketch = Sketch()
    sketch.alloc(shape=(16,))
    sketch.init()
    with sketch.loop(LoopKind.PARALLEL, ("i",), (8,)):
        for index in (Index("0", 0), Index("i", None, "i")):
            sketch.update(indices=(index,), operands=Operands.ELEMENTWISE)
    assert messages("RM312", sketch, on("0.1.15")) == []


@pytest.mark.parametrize(
    ("place", "operands", "planned"),
    [
        ("i", Operands.ELEMENTWISE, True),
        ("3 - i", Operands.ELEMENTWISE, False),
        ("i", Operands.MEMORY, False),
    ],
)
def test_another_loop_that_has_a_plan_or_none(
    place: str, operands: Operands, planned: bool
) -> None:
    fragments = sites("0", "i", outputs=4, operands=Operands.ELEMENTWISE)
    with fragments.loop(LoopKind.PARALLEL, ("i", "j"), (4, 8)):
        index = Index(place, variable=place if place == "i" else None)
        fragments.update(indices=(index,), operands=operands)
    assert len(messages("RM312", fragments, on("0.1.15"))) == planned


def test_one_place_by_two_names() -> None:
    sketch = Sketch()
    sketch.alloc(shape=(1,))
    sketch.init()
    with sketch.loop(LoopKind.PARALLEL, ("i",), (8,)):
        for index in (Index("i % 1"), Index("0", 0)):
            sketch.update(indices=(index,), operands=Operands.ELEMENTWISE)
    assert messages("RM312", sketch, on("0.1.15")) == []


def test_one_finding_for_a_loop() -> None:
    assert [line for line, _ in messages("RM312", sites("i", "i", "0", "i"), on("0.1.15"))] == [6]


@pytest.mark.parametrize("outputs", [1, 256, None])
def test_few_outputs_or_an_unknown_number(outputs: int | None) -> None:
    assert messages("RM312", sites("0", "i", outputs=outputs), on("0.1.15")) == []


def test_loops_of_their_own_and_equal_indices_are_right() -> None:
    assert messages("RM312", sites("i", loops=2), on("0.1.15")) == []
    assert messages("RM312", sites("i", "i"), on("0.1.15")) == []


def test_other_releases_and_the_runtime() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM312", sites("0", "i"), target) == []
    (finding,) = found("RM312", sites("0", "i"), on(None))
    assert finding.severity is Severity.NOTE
