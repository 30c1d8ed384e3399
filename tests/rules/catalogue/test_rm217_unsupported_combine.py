from __future__ import annotations

import pytest

from reducer_rules import Target
from reducer_rules.monoid import Op
from tests.rules.build import Sketch, findings, said


def combined(op: Op | None, text: str | None = None, dtype: str | None = "float32") -> Sketch:
    sketch = Sketch()
    sketch.alloc(op=op, op_text=text, dtype=dtype)
    return sketch


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("mean", 'reduce with op="sum" and divide the result'),
        ("absmax", 'reduce with op="max" and contribute T.abs(value)'),
        (
            "argmax",
            "use one of sum, max, min, bitand, bitor, bitxor, or prod with reducer_compat",
        ),
    ],
)
def test_a_literal_that_is_no_operation(name: str, help: str) -> None:
    (found,) = findings("RM217", combined(None, f'"{name}"'))
    assert found.message == (
        f'reducer `acc` is combined by "{name}", which is no reduction operation'
    )
    assert found.help == help


def test_an_operation_that_is_not_static() -> None:
    assert said("RM217", combined(None, "op")) == []
    assert said("RM217", combined(None, 'ops["x"]')) == []
    assert said("RM217", combined(None, '"max" if largest else "sum"')) == []


def test_prod_needs_reducer_compat() -> None:
    (found,) = findings("RM217", combined(Op.PROD))
    assert found.message == "reducer `acc` is combined by prod, which TileLang does not have"
    assert found.help == "import reducer_compat"
    assert said("RM217", combined(Op.PROD), Target(compat=True)) == []


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
def test_bitwise_operations_are_for_integers(dtype: str) -> None:
    assert said("RM217", combined(Op.BITXOR, dtype=dtype)) == [
        (1, f"reducer `acc` is combined by bitxor, which {dtype} does not have")
    ]


def test_bitwise_operations_on_bool_need_reducer_compat() -> None:
    sketch = combined(Op.BITOR, dtype="bool")
    assert said("RM217", sketch) == [
        (1, "reducer `acc` is combined by bitor, which TileLang does not have for bool")
    ]
    assert said("RM217", sketch, Target(compat=True)) == []


@pytest.mark.parametrize("dtype", ["int32", "uint8", None])
def test_bitwise_operations_on_integers(dtype: str | None) -> None:
    assert said("RM217", combined(Op.BITAND, dtype=dtype)) == []


@pytest.mark.parametrize("op", [Op.SUM, Op.MAX, Op.MIN])
def test_operations_of_every_release(op: Op) -> None:
    assert said("RM217", combined(op)) == []
