"""What the contribution counter said of kernels that a test compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import reducer_compat
from reducer_compat.ladder import Feature
from reducer_compat.passes.prove import Verdict, intended, prove, remember
from tests.compat.prove.harness import patched


@contextlib.contextmanager
def counting() -> Iterator[list[Verdict]]:
    """A list that holds, at the end, the verdicts on what was compiled within, oldest first.

    Plans are counted, too, where what became of them is counted exactly.
    """
    found: list[Verdict] = []
    before = reducer_compat.status().counts[-1:]

    def both(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
        if stage == "lowered":
            remember(prove(intended(func), "planned", notes))
        return prove(func, stage, notes)

    with patched(prove=both):
        yield found
    after = reducer_compat.status().counts
    found += after[1 + max((k for k, one in enumerate(after) if one in before), default=-1) :]


def assert_counted(verdicts: list[Verdict]) -> None:
    """Every kernel was counted before and after lowering, with the plan that was chosen for it.

    TileLang may have lost a part of a pipeline on the way, which is then lowered without it.
    """
    stages = [verdict.stage for verdict in verdicts]
    launched = stages.count("lowered")
    assert launched > 0
    assert stages[-2 * launched :] == ["planned", "lowered"] * launched
    for verdict in verdicts:
        assert verdict.counted, str(verdict)
        assert verdict.contributions > 0
        assert verdict.slots > 0
        assert not any(note.startswith(f"{Feature.NARROW} ") for note in verdict.notes), str(
            verdict
        )
