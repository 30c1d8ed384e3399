from __future__ import annotations

from tests.rules.build import Sketch, findings, said, v1, v2


def test_the_argument_is_named() -> None:
    (found,) = findings("RM101", v1())
    assert found.message == (
        "reducer `acc` is allocated with `replication=`, which v2 does not have"
    )
    assert found.help == "remove `replication=`; v2 chooses the layout itself"
    assert (found.span.line, found.blocks) == (1, False)


def test_each_of_several_allocations_is_named() -> None:
    sketch = Sketch()
    sketch.alloc(replication="all")
    sketch.alloc(replication="none")
    assert [line for line, _ in said("RM101", sketch)] == [1, 2]


def test_a_default_allocation_has_no_argument() -> None:
    assert said("RM101", v2()) == []
