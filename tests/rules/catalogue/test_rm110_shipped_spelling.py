from __future__ import annotations

from reducer_rules import Target
from reducer_rules.timeline import Dialect
from tests.rules.build import findings, rfc, said, v1, v2

RFC = Target(compat=True, dialect=Dialect.RFC)


def test_the_rfc_call_is_given() -> None:
    (found,) = findings("RM110", v2(), RFC)
    assert found.message == (
        "`acc[0]` is updated in the shipped spelling, and the RFC's was asked for"
    )
    assert found.help == "write `T.reducer_update(acc, 0, A[i])`"
    assert found.span.line == 3


def test_only_where_it_was_asked_for() -> None:
    assert said("RM110", v2()) == []
    assert said("RM110", v2(), Target(dialect=Dialect.SHIPPED)) == []


def test_other_spellings() -> None:
    assert said("RM110", v1(), RFC) == []
    assert said("RM110", rfc(), RFC) == []
