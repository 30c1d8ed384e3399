from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Index
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on


def closed(*starts: int | str, destination: str = "out[8:16]") -> Sketch:
    """A v2 epoch that is finalized into a part that begins at `starts`, a number or a text."""
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.accumulate()
    parts = tuple(Index(str(s), s if isinstance(s, int) else None) for s in starts)
    sketch.finalize(destination, destination_start=parts)
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_a_part_that_begins_further_on(release: str) -> None:
    assert messages("RM310", closed(8), on(release)) == [
        (
            4,
            f"TileLang {release} writes the result of `acc` to the beginning of the buffer, not "
            "to `out[8:16]`",
        )
    ]


@pytest.mark.parametrize("starts", [("k",), (0, 8), (1, 0), (-8,), ("k * 8", 0)])
def test_any_axis_that_may_begin_elsewhere(starts: tuple[int | str, ...]) -> None:
    assert len(messages("RM310", closed(*starts), on("0.1.15"))) == 1


@pytest.mark.parametrize("starts", [(), (0,), (0, 0)])
def test_whole_buffers_and_their_beginnings_are_right(starts: tuple[int, ...]) -> None:
    assert messages("RM310", closed(*starts), on("0.1.15")) == []


def test_other_releases_and_the_runtime() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM310", closed(8), target) == []
    (finding,) = found("RM310", closed(8), on(None))
    assert finding.severity is Severity.NOTE
