"""The cost of a count, far above what it should be so that a busy machine passes."""

from __future__ import annotations

import pytest

from benchmarks import prove

#: Processor milliseconds. `benchmarks/prove.py` measures 16 at most.
LIMIT = 100


@pytest.mark.parametrize("operand", ["shared", "fragment"])
@pytest.mark.parametrize("plan", ["", "wide"])
def test_a_count_of_1024_threads_is_cheap(
    operand: str, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", plan)
    found = prove.stages(prove.row_sum(operand, 1))
    assert [stage for _, stage in found] == ["planned", "lowered"]
    for func, stage in found:
        assert prove.milliseconds(func, stage, 3) < LIMIT
