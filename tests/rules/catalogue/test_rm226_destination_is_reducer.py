from __future__ import annotations

from tests.rules.build import Sketch, findings, said, v1, v2


def closed(destination: str, reducer: bool) -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.finalize(destination, destination_is_reducer=reducer)
    return sketch


def test_another_reducer() -> None:
    (found,) = findings("RM226", closed("other", True))
    assert found.message == "reducer `acc` is finalized into `other`, which is a reducer"
    assert found.help == (
        "finalize into a fragment from T.alloc_fragment of the same shape and dtype"
    )


def test_itself() -> None:
    assert said("RM226", closed("acc", False)) == [(3, "reducer `acc` is finalized into itself")]


def test_a_fragment_and_none() -> None:
    assert said("RM226", v1()) == []
    assert said("RM226", v2()) == []
