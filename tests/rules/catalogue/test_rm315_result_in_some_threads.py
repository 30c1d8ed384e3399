from __future__ import annotations

import pytest

from reducer_rules import Severity
from reducer_rules.timeline import Finalize, Index, Operands, Span
from tests.rules.build import Sketch
from tests.rules.launched import found, messages, on


def beside(
    memory: bool = True, stored_only: bool = False, outputs: int = 1, tile: str = "i"
) -> Sketch:
    """The sum of what a fragment of 32 and memory give, closed at line 4."""
    sketch = Sketch()
    sketch.alloc(shape=(outputs,))
    sketch.init()
    with sketch.loop(variables=("i",), extents=(32,)):
        sketch.update(
            indices=(Index("i // 32"),),
            operands=Operands.ELEMENTWISE,
            tile=(tile,) if tile else (),
            touches_memory=memory,
        )
    sketch.add(Finalize(ident=4, span=Span(4), destination="total", stored_only=stored_only))
    return sketch


@pytest.mark.parametrize("release", ["0.1.14", "0.1.15"])
def test_a_result_that_every_thread_reads(release: str) -> None:
    assert messages("RM315", beside(), on(release)) == [
        (
            3,
            f"TileLang {release} gives the result of `acc` to some of the 128 threads: they hold "
            "copies of a smaller fragment, and one copy is counted beside memory",
        )
    ]


def test_results_that_one_thread_stores_and_loops_over_fragments_or_memory_alone() -> None:
    for sketch in (beside(stored_only=True), beside(memory=False), beside(tile="")):
        assert messages("RM315", sketch, on("0.1.15")) == []


def test_a_fragment_that_fills_the_block_and_a_plan_of_all_threads() -> None:
    assert messages("RM315", beside(), on("0.1.15"), threads=32) == []
    assert messages("RM315", beside(), on("0.1.15"), threads=None) == []
    assert messages("RM315", beside(outputs=2), on("0.1.15")) == []


def test_sites_that_differ_have_a_plan_of_all_threads() -> None:
    sketch = beside()
    with sketch.loop(variables=("i",), extents=(16,)):
        sketch.update(operands=Operands.ELEMENTWISE, tile=("i",), touches_memory=True)
    assert messages("RM315", sketch, on("0.1.15")) == []


def test_other_releases_and_the_runtime() -> None:
    for target in (on("0.1.13"), on("0.1.15", compat=True)):
        assert messages("RM315", beside(), target) == []
    (finding,) = found("RM315", beside(), on(None))
    assert finding.severity is Severity.NOTE
