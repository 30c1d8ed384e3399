"""Broken kernels: whatever changes the interpreter's result, the counter refuses.

All are broken on the newest release, and on an older one its share of them in half of the ways: the
counter is the same, and so are the forms that it reads but for the places of a release in its
adapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reducer_compat.adapter import adapter
from tests.compat.prove import mutants
from tests.compat.prove.harness import Outcome, differs, lowered, outcome
from tests.compat.share import dealt, newest, share
from tests.compat.test_kernels import CASES
from tests.kernels import Case

#: Kernels of every family, and at which stage they are broken.
BROKEN = [
    ("two_widths", "lowered"),
    ("two_widths", "planned"),
    ("gemv_16x128_128_2_fragment", "planned"),
    ("seeded", "lowered"),
    ("three_axes", "lowered"),
    ("pipelined_epochs", "lowered"),
    ("v1_finalized_in_a_branch", "lowered"),
    ("columns_and_computed_index", "lowered"),
    ("serial_inside_parallel", "planned"),
    ("opened_twice", "lowered"),
    ("sum_float16_16x128_weighted", "lowered"),
    ("symbolic_shorter_than_its_stages", "lowered"),
]
#: What has to be broken somewhere: each a kind of mutant.
KINDS = {
    "guard",
    "width",
    "stride",
    "functor",
    "loop",
    "partial index",
    "partial",
    "partial value",
    "exchange index",
    "exchange read",
    "exchange",
    "seed value",
    "destination index",
    "destination",
    "destination read",
    "choice",
    "distance",
}
if adapter().pairs_halves:
    KINDS |= {"pairs index", "pairs read", "pairs value"}
if not adapter().pipelines_late:
    KINDS |= {"predicate"}


def case_of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def chosen(func: Any) -> Iterator[mutants.Mutant]:
    """The mutant in the middle of each kind."""
    by_kind: dict[str, list[mutants.Mutant]] = {}
    for mutant in mutants.mutants(func):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    for found in by_kind.values():
        yield found[len(found) // 2]


def broken(case: Case, stage: str) -> dict[str, Outcome]:
    """What became of the mutants of a kernel, by name."""
    names: list[str] = []

    def look(func: Any) -> Any:
        names.extend(mutant.name for mutant in chosen(func))
        return func

    kernel, said = lowered(case, stage, look)
    assert set(said) == {""}
    assert not differs(case, kernel)

    def one(name: str) -> Outcome:
        def change(func: Any) -> Any:
            return next(m for m in mutants.mutants(func) if m.name == name).func

        return outcome(case, stage, change)

    return {name: one(name) for name in dealt(names, hands=2)}


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, str], dict[str, Outcome]]:
    kernels = BROKEN if newest() else share(BROKEN)
    return {(name, stage): broken(case_of(name), stage) for name, stage in kernels}


def test_every_mutant_with_another_result_is_refused(
    outcomes: dict[tuple[str, str], dict[str, Outcome]],
) -> None:
    missed = [
        (kernel, stage, name)
        for (kernel, stage), found in outcomes.items()
        for name, result in found.items()
        if result.differs and not result.refusal
    ]
    assert missed == []


def test_what_is_wrong_with_a_plan_is_refused_as_that_too(
    outcomes: dict[tuple[str, str], dict[str, Outcome]],
) -> None:
    """An error that names the plan says more than one that names what TileLang made of it."""
    missed = [
        (kernel, name)
        for (kernel, stage), found in outcomes.items()
        for name, result in found.items()
        if stage == "planned" and result.differs and not result.of_plan
    ]
    assert missed == []


def test_enough_mutants_have_another_result(
    outcomes: dict[tuple[str, str], dict[str, Outcome]],
) -> None:
    wrong = [
        name.split(":")[0]
        for found in outcomes.values()
        for name, result in found.items()
        if result.differs
    ]
    if newest():
        assert len(wrong) >= 60
        assert set(wrong) >= KINDS
    else:
        assert len(wrong) >= 3


def test_a_refusal_names_a_statement_of_the_kernel(
    outcomes: dict[tuple[str, str], dict[str, Outcome]],
) -> None:
    for found in outcomes.values():
        for result in found.values():
            if result.refusal:
                where, _, rest = result.refusal.partition(": RC006 ")
                assert where.rpartition(":")[2].isdigit(), result.refusal
                assert "reducer" in rest
