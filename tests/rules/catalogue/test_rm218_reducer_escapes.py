from __future__ import annotations

import pytest

from reducer_rules.catalogue import rules
from reducer_rules.timeline import EscapeKind
from tests.rules.build import Sketch, findings, said, v1


def escaping(kind: EscapeKind, detail: str = "") -> Sketch:
    sketch = Sketch()
    sketch.alloc()
    sketch.escape(kind, detail)
    return sketch


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (EscapeKind.RETURN, "reducer `acc` is returned: `x`"),
        (EscapeKind.CAPTURE, "reducer `acc` is used by a nested function: `x`"),
        (EscapeKind.CONTAINER, "reducer `acc` is stored in a container: `x`"),
        (EscapeKind.ADDRESS, "reducer `acc` has its storage taken: `x`"),
        (EscapeKind.DELETE, "reducer `acc` is deleted: `x`"),
        (EscapeKind.OPERAND, "reducer `acc` is used as an operand of another operation: `x`"),
    ],
)
def test_how_it_escapes_is_said(kind: EscapeKind, message: str) -> None:
    (found,) = findings("RM218", escaping(kind, "x"))
    assert (found.span.line, found.message) == (2, message)
    assert found.help == "keep the whole epoch in one function, and pass its result on"


@pytest.mark.parametrize(
    ("kind", "message", "help"),
    [
        (
            EscapeKind.ARGUMENT,
            "reducer `acc` is passed to a function: `x`",
            "keep the epoch in one function and the macros (`@T.macro`) that it calls by name, "
            "with arguments written out, and pass its result on",
        ),
        (
            EscapeKind.RECURSION,
            "reducer `acc` is passed on by a macro that calls itself: `x`",
            "write a loop: what happens to the reducer depends on how often it calls",
        ),
        (
            EscapeKind.TARGET,
            "reducer `acc` is not bound to a plain name: `x`",
            "bind the reducer to a name of its own in this function",
        ),
        (
            EscapeKind.UNPACKED,
            "reducer `acc` is given to a call whose arguments are not spelled out: `x`",
            "write the arguments of the call out, one by one",
        ),
        (
            EscapeKind.PARAMETER,
            "reducer `acc` is given to a call with an argument that v2 has no place for: `x`",
            "drop the argument",
        ),
    ],
)
def test_where_there_is_another_way_out_it_is_said(
    kind: EscapeKind, message: str, help: str
) -> None:
    (found,) = findings("RM218", escaping(kind, "x"))
    assert (found.message, found.help) == (message, help)


def test_without_a_detail() -> None:
    assert said("RM218", escaping(EscapeKind.RETURN)) == [(2, "reducer `acc` is returned")]


@pytest.mark.parametrize("kind", EscapeKind)
def test_every_escape_is_told_once_and_by_one_rule(kind: EscapeKind) -> None:
    sketch = escaping(kind, "x")
    told = [each.code for each in rules() if findings(each.code, sketch)]
    assert len(told) == 1
    assert told[0] in ("RM218", "RM219", "RM220")


def test_a_complete_epoch_stays() -> None:
    assert said("RM218", v1()) == []
