from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Index
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on, opened

Axes = tuple[int, ...]
NAMES = "ijk"


def over(extents: Axes, kept: str, tile: str | None = None, sketch: Sketch | None = None) -> Sketch:
    """A sum over a tile that keeps the axes named; `tile` is the order of the fragment's axes."""
    names = NAMES[: len(extents)]
    shape = tuple(extents[names.index(name)] for name in kept) or (1,)
    sketch = sketch or opened(shape=shape)
    indices = tuple(Index(name, variable=name) for name in kept) or (Index("0", 0),)
    with sketch.loop(variables=tuple(names), extents=extents):
        sketch.augment(indices=indices, tile=tuple(names if tile is None else tile))
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_row_sums_of_a_small_tile(release: str) -> None:
    assert messages("RM308", over((4, 8), "i"), on(release)) == [
        (
            3,
            f"TileLang {release} counts 1 of 8 contributions to each output of `acc`: a 4x8 "
            "fragment does not fill 128 threads, which are not combined",
        )
    ]


@pytest.mark.parametrize(
    ("extents", "kept", "combined"),
    [
        ((4, 8), "", 32),
        ((2, 4, 8), "", 64),
        ((2, 4, 8), "i", 32),
        ((2, 4, 8), "j", 16),
        ((2, 4, 8), "k", 8),
        ((2, 4, 8), "ik", 4),
        ((8, 1, 4), "i", 4),
        ((4, 4, 1), "ik", 4),
    ],
)
def test_what_is_lost_of_other_reductions(extents: Axes, kept: str, combined: int) -> None:
    ((_, message),) = messages("RM308", over(extents, kept), on("0.1.15"))
    assert f"counts 1 of {combined} contributions" in message


@pytest.mark.parametrize(
    ("extents", "kept"),
    [
        ((4, 8), "j"),
        ((2, 4, 8), "jk"),
        ((8, 1, 4), "k"),
        ((1, 4, 4), "k"),
        ((4, 8), "ij"),
        ((64,), ""),
        ((1, 8), ""),
        ((4, 32), "i"),
        ((4, 64), "i"),
        ((4, 12), "i"),
        ((2, 24), "i"),
    ],
)
def test_reductions_that_are_right(extents: Axes, kept: str) -> None:
    assert messages("RM308", over(extents, kept), on("0.1.15")) == []


def test_the_order_of_the_fragment_counts_not_that_of_the_loop() -> None:
    assert messages("RM308", over((4, 8), "i", tile="ji"), on("0.1.15")) == []
    assert len(messages("RM308", over((4, 8), "j", tile="ji"), on("0.1.15"))) == 1
    assert messages("RM308", over((4, 8), "i", tile=""), on("0.1.15")) == [], "no fragment is read"


def test_indices_that_are_no_axes_fall_back_to_a_plan_that_combines_all() -> None:
    for index in (Index("j % 4"), Index("2", 2), Index("k", variable="k")):
        sketch = opened(shape=(4,))
        with sketch.loop(variables=("i", "j"), extents=(4, 8)):
            sketch.augment(indices=(index,), tile=("i", "j"))
        assert messages("RM308", sketch, on("0.1.15")) == []
    assert messages("RM308", over((4, 8), "i", sketch=opened(shape=(8,))), on("0.1.15")) == []


def test_so_do_sites_that_differ() -> None:
    rows = over((4, 8), "i")
    assert len(messages("RM308", over((4, 8), "i", sketch=rows), on("0.1.15"))) == 2
    assert messages("RM308", over((4, 4), "i", sketch=rows), on("0.1.15")) == []
    memory = over((4, 8), "i", tile="", sketch=over((4, 8), "i"))
    assert messages("RM308", memory, on("0.1.15")) == []


@pytest.mark.parametrize(("threads", "lost"), [(96, 1), (64, 1), (32, 0), (48, 0), (1024, 1)])
def test_the_threads_have_to_be_a_multiple_of_the_tile(threads: int, lost: int) -> None:
    assert len(messages("RM308", over((4, 8), "i"), on("0.1.15"), threads=threads)) == lost
    assert messages("RM308", over((4, 8), "i"), on("0.1.15"), threads=None) == []


def test_other_releases_and_the_runtime_are_right() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM308", over((4, 8), "i"), target) == []


def test_on_any_release_it_is_a_note() -> None:
    (finding,) = found("RM308", over((4, 8), "i"), on(None))
    assert finding.severity is Severity.NOTE
    assert "TileLang 0.1.14 to 0.1.15" in finding.message


@pytest.mark.parametrize(("kept", "found"), [("i", 1), ("j", 0), ("k", 1)])
def test_a_fragment_of_fewer_axes_than_the_nest(kept: str, found: int) -> None:
    sizes = {"i": 4, "j": 8, "k": 64}
    sketch = opened(shape=(sizes[kept],))
    with sketch.loop(variables=tuple(sizes), extents=tuple(sizes.values())):
        sketch.augment(indices=(Index(kept, variable=kept),), part_tiles=(("i", "j"),))
    assert len(messages("RM308", sketch, on("0.1.15"))) == found
