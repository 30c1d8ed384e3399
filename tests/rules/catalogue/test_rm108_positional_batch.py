from __future__ import annotations

import pytest

from reducer_rules.timeline import Batch
from tests.rules.build import Sketch, findings, said


def closed(batch: Batch | None) -> Sketch:
    sketch = Sketch()
    sketch.alloc(replication="all")
    sketch.finalize(None, batch=batch)
    return sketch


def test_a_positional_batch_is_named() -> None:
    (found,) = findings("RM108", closed(Batch("4 * 2", positional=True)))
    assert found.message == (
        "the batch `4 * 2` of reducer `acc` is passed where v2 takes the destination"
    )
    assert found.help == "drop the batch, which is only a hint, and pass the result fragment"


@pytest.mark.parametrize("batch", [None, Batch("2", 2)])
def test_a_keyword_is_no_position(batch: Batch | None) -> None:
    assert said("RM108", closed(batch)) == []
