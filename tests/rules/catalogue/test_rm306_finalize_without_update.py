from __future__ import annotations

import pytest

from reducer_rules.timeline import EscapeKind, LoopKind, Store
from tests.rules.build import Sketch
from tests.rules.launched import messages, on, opened


def test_a_finalize_right_after_the_clear() -> None:
    sketch = opened()
    sketch.close()
    assert messages("RM306", sketch, on("0.1.13")) == [
        (3, "`acc` is finalized and never updated: TileLang 0.1.13 fails to compile it")
    ]


def test_an_operation_on_the_whole_reducer_does_not_help() -> None:
    sketch = opened()
    sketch.add(Store(**sketch._place(), what="`T.reduce_sum`"))
    sketch.close()
    ((line, message),) = messages("RM306", sketch, on(None))
    assert line == 4
    assert message.endswith("never updated: TileLang 0.1.8 to 0.1.13 fails to compile it")


def test_any_update_of_an_element() -> None:
    sketch = opened()
    with sketch.loop(LoopKind.SERIAL):
        sketch.augment()
    sketch.close()
    assert messages("RM306", sketch, on("0.1.13")) == []


@pytest.mark.parametrize("kind", [EscapeKind.ARGUMENT, EscapeKind.ALIAS])
def test_what_the_model_cannot_follow_may_update(kind: EscapeKind) -> None:
    sketch = opened()
    sketch.escape(kind)
    sketch.close()
    assert messages("RM306", sketch, on("0.1.13")) == []


def test_v2_compiles() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.finalize()
    assert messages("RM306", sketch, on(None)) == []
    assert messages("RM306", sketch, on("0.1.13")) == []


def test_from_0_1_14_on_and_with_reducer_compat() -> None:
    sketch = opened()
    sketch.close()
    assert messages("RM306", sketch, on("0.1.14")) == []
    assert messages("RM306", sketch, on("0.1.13", compat=True)) == []
