from __future__ import annotations

import pytest

from reducer_rules.timeline import Batch
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on, opened


def v1(batch: int | None, shape: tuple[int, ...] = (8,), replication: str = '"all"') -> Sketch:
    sketch = opened(shape=shape, replication=replication)
    sketch.accumulate()
    sketch.finalize(None, batch=Batch(str(batch), batch))
    return sketch


def v2(batch: int) -> Sketch:
    sketch = Sketch()
    sketch.alloc(shape=(8,))
    sketch.init()
    sketch.contribute()
    sketch.finalize(batch=Batch(str(batch), batch))
    return sketch


def test_the_outputs_that_are_reduced() -> None:
    assert messages("RM302", v1(2), on("0.1.13")) == [
        (4, "TileLang 0.1.13 reduces only the first 2 of the 8 outputs of `acc`")
    ]


def test_outputs_are_counted_over_all_axes() -> None:
    ((_, message),) = messages("RM302", v1(4, (4, 4)), on("0.1.10"))
    assert message == "TileLang 0.1.10 reduces only the first 4 of the 16 outputs of `acc`"


def test_a_batch_that_does_not_divide() -> None:
    ((_, message),) = messages("RM302", v1(3), on("0.1.13"))
    assert message == "TileLang 0.1.13 refuses to compile a batch of 3 for 8 outputs of `acc`"


@pytest.mark.parametrize("batch", [1, 8, None])
def test_right_and_unknown_batches(batch: int | None) -> None:
    assert messages("RM302", v1(batch), on("0.1.13")) == []


def test_a_warp_does_not_batch() -> None:
    assert messages("RM302", v1(2), on("0.1.13"), threads=32) == []
    assert len(messages("RM302", v1(2), on("0.1.13"), threads=None)) == 1


def test_no_collective_below_native_v2_without_replication() -> None:
    assert messages("RM302", v1(2, replication='"none"'), on("0.1.13")) == []


def test_the_range() -> None:
    assert messages("RM302", v1(2), on("0.1.9")) == []
    ((_, message),) = messages("RM302", v1(2), on(None))
    assert message.startswith("TileLang 0.1.10 to 0.1.15 reduces only")
    assert found("RM302", v1(2), on("0.1.15", compat=True)) == []


def test_v2_is_judged_from_0_1_14_on() -> None:
    assert messages("RM302", v2(2), on("0.1.13")) == []
    ((_, message),) = messages("RM302", v2(2), on(None))
    assert message == "TileLang 0.1.14 to 0.1.15 reduces only the first 2 of the 8 outputs of `acc`"
