from __future__ import annotations

from tests.rules.build import findings, rfc, said, v1, v2


def test_a_result_fragment_is_asked_for() -> None:
    (found,) = findings("RM107", v1())
    assert (found.span.line, found.message) == (4, "reducer `acc` is finalized in place")
    assert found.help == (
        "write `T.finalize_reducer(acc, acc_result)` and read the result fragment"
    )


def test_a_destination_or_the_rfc_spelling_is_no_v1() -> None:
    assert said("RM107", v2()) == []
    assert said("RM107", rfc()) == []
