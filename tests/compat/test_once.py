"""Answers about TIR are kept while a pass runs, and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from reducer_compat import ReducerError, once, pipeline
from reducer_compat.adapter import adapter
from tests.compat.lowering import source
from tests.compat.prove.harness import patched
from tests.kernels import sites


def test_a_question_is_asked_once_of_each_node_while_passes_run() -> None:
    asked: list[Any] = []

    @once.once
    def name(node: Any) -> str:
        asked.append(node)
        return str(node.name)

    one, other = (adapter().tir.Var(text, "int32") for text in "ij")
    for _ in range(2):
        assert name(one) == "i"
    assert len(asked) == 2
    with once.answers_kept():
        for _ in range(3):
            assert (name(one), name(other)) == ("i", "j")
        with once.answers_kept():
            assert name(one) == "i"
        assert (name(one), len(asked)) == ("i", 4)
    assert (name(one), len(asked)) == ("i", 5)


def kept() -> int:
    return len(once._NODES) + sum(map(len, once._ANSWERS))


def test_no_answer_outlives_a_lowering() -> None:
    during: list[int] = []
    crowded = pipeline.crowded

    def looked(func: Any) -> Any:
        during.append(kept())
        return crowded(func)

    with patched(crowded=looked):
        source(sites.two_widths())
    assert min(during) > 0
    assert kept() == 0


def test_no_answer_outlives_a_lowering_that_fails() -> None:
    def failing(func: Any) -> Any:
        raise ReducerError("RC005", "no", fix="yes")

    with patched(residue=failing), pytest.raises(ReducerError, match="RC005"):
        source(sites.two_widths())
    assert kept() == 0
