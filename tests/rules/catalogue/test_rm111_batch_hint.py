from __future__ import annotations

import pytest

from reducer_rules import Severity, Target
from reducer_rules.release import Release
from reducer_rules.timeline import Batch
from tests.rules.build import Sketch, findings, said


def closed(batch: Batch, destination: str | None = None) -> Sketch:
    sketch = Sketch()
    sketch.alloc((8,), replication="all")
    sketch.finalize(destination, batch=batch)
    return sketch


@pytest.mark.parametrize("release", [None, Release.parse("0.1.13"), Release.parse("0.1.15")])
def test_a_dropped_batch_is_a_note_on_every_release(release: Release | None) -> None:
    (found,) = findings("RM111", closed(Batch("2", 2)), Target(release))
    assert found.severity is Severity.NOTE
    assert found.message == (
        "the batch `2` of reducer `acc` is dropped by the rewrite: it is a hint, and wrong "
        "unless it equals the number of outputs"
    )


def test_a_batch_that_is_not_known_is_dropped_too() -> None:
    assert [line for line, _ in said("RM111", closed(Batch("width")))] == [2]


def test_one_is_the_default() -> None:
    assert said("RM111", closed(Batch("1", 1))) == []


def test_v2_code_is_not_rewritten() -> None:
    assert said("RM111", closed(Batch("2", 2), "result")) == []
