"""Every example of every rule, through the Python front end."""

from __future__ import annotations

import pytest

from reducer_migrate.engine import Options, analyse
from reducer_migrate.source import Source
from reducer_rules import Rule
from reducer_rules.catalogue import rules

KERNEL = """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
"""


def module(example: str) -> str:
    """The example itself where it is a module, else a kernel around it."""
    if example.startswith(("import ", "from ", "def ", "@")):
        return example
    return KERNEL + "".join(f"        {line}" for line in example.splitlines(keepends=True))


def codes(each: Rule, example: str) -> list[str]:
    source = Source.of(module(example))
    found = analyse(source, Options(target=each.example_target)).diagnostics
    return [diagnostic.code for diagnostic in found]


def examples(kind: str) -> list[object]:
    return [
        pytest.param(each, example, id=f"{each.code}-{number}")
        for each in rules()
        for number, example in enumerate(getattr(each, kind))
    ]


@pytest.mark.parametrize(("each", "example"), examples("valid"))
def test_a_valid_example_is_not_found(each: Rule, example: str) -> None:
    assert each.code not in codes(each, example)


@pytest.mark.parametrize(("each", "example"), examples("invalid"))
def test_an_invalid_example_is_found(each: Rule, example: str) -> None:
    assert each.code in codes(each, example)
