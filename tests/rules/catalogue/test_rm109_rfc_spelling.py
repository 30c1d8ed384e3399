from __future__ import annotations

import pytest

from reducer_rules import Target
from reducer_rules.release import Release
from reducer_rules.timeline import Dialect, UpdateForm
from tests.rules.build import Sketch, findings, rfc, said, v1, v2

SHIPPED = Target(dialect=Dialect.SHIPPED)
NEW, OLD = Release.parse("0.1.14"), Release.parse("0.1.13")


@pytest.mark.parametrize("target", [SHIPPED, Target(NEW), Target(NEW, True, Dialect.SHIPPED)])
def test_each_statement_of_the_rfc_is_named(target: Target) -> None:
    found = findings("RM109", rfc(), target)
    assert [(each.span.line, each.message, each.help) for each in found] == [
        (
            1,
            "reducer `acc` is opened by its allocation, which TileLang did not ship",
            "write `T.reducer_init(acc)`, or import reducer_compat",
        ),
        (
            2,
            "reducer `acc` is updated in the RFC's spelling, which TileLang did not ship",
            "write `T.reducer_update(acc[0], A[i])`, or import reducer_compat",
        ),
        (
            3,
            "reducer `acc` is finalized in place, which TileLang did not ship",
            "write `T.finalize_reducer(acc, acc_result)`, or import reducer_compat",
        ),
    ]


def test_what_both_spellings_share_is_not_named() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.init()
    sketch.contribute(form=UpdateForm.RFC)
    sketch.finalize()
    assert [line for line, _ in said("RM109", sketch, SHIPPED)] == [3]


@pytest.mark.parametrize(
    "target",
    [Target(), Target(OLD), Target(NEW, compat=True), Target(NEW, dialect=Dialect.RFC)],
    ids=["any", "0.1.13", "with reducer_compat", "the RFC's asked for"],
)
def test_the_rfc_spelling_is_fine_where_nothing_else_is_needed(target: Target) -> None:
    assert said("RM109", rfc(), target) == []


def test_other_dialects_are_not_the_rfc() -> None:
    assert said("RM109", v1(), SHIPPED) == []
    assert said("RM109", v2(), SHIPPED) == []
