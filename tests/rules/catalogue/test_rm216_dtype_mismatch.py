from __future__ import annotations

import pytest

from reducer_rules.timeline import Fill, InitForm
from tests.rules.build import Sketch, findings, said, v1, v2


def closed(dtype: str | None, shape: tuple[int | None, ...] | None) -> Sketch:
    sketch = Sketch()
    sketch.alloc((8, None))
    sketch.finalize(destination_dtype=dtype, destination_shape=shape)
    return sketch


def test_a_destination_of_another_dtype() -> None:
    (found,) = findings("RM216", closed("float16", (8, 4)))
    assert found.message == "reducer `acc` is float32, and its destination `result` is float16"
    assert found.help == "allocate `result` with the dtype and shape of `acc`"
    assert found.span.line == 2


@pytest.mark.parametrize(("shape", "text"), [((8,), "(8,)"), ((4, None), "(4, ?)")])
def test_a_destination_of_another_shape(shape: tuple[int | None, ...], text: str) -> None:
    assert said("RM216", closed("float32", shape)) == [
        (2, f"reducer `acc` has shape (8, ?), and its destination `result` has {text}")
    ]


@pytest.mark.parametrize("shape", [(8, 4), (None, None), None])
def test_a_destination_that_fits_or_is_not_known(shape: tuple[int | None, ...] | None) -> None:
    assert said("RM216", closed("float32", shape)) == []
    assert said("RM216", closed(None, shape)) == []


def seeded(form: InitForm, dtype: str | None) -> Sketch:
    sketch = Sketch()
    sketch.alloc(dtype="float16")
    sketch.init(form, Fill("x", dtype=dtype))
    return sketch


def test_a_seed_of_another_dtype() -> None:
    (found,) = findings("RM216", seeded(InitForm.REDUCER_INIT, "float32"))
    assert found.message == "the seed `x` is float32, and reducer `acc` is float16"
    assert found.help == 'cast it: `T.cast(x, "float16")`'


def test_a_seed_that_fits_and_a_fill_that_is_cast() -> None:
    assert said("RM216", seeded(InitForm.REDUCER_INIT, "float16")) == []
    assert said("RM216", seeded(InitForm.REDUCER_INIT, None)) == []
    assert said("RM216", seeded(InitForm.FILL, "float32")) == []


def test_complete_epochs() -> None:
    assert said("RM216", v1()) == []
    assert said("RM216", v2()) == []
