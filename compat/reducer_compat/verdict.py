"""What the counter said of the kernels of this process."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass

_LOG = logging.getLogger("reducer_compat")
#: Verdicts that are kept.
_KEPT = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one count.

    Attributes:
        kernel: its name.
        stage: ``lowered`` (after `LowerTileOp`), or ``planned`` (before it), which is counted
            where the other count is not exact.
        counted: whether every contribution was seen to enter every slot of its output exactly
            once; False where something in the kernel could not be followed.
        contributions: dynamic updates and seeds that were counted.
        slots: slots of destinations that were looked at, in all threads.
        notes: what the count stands for where not everything is known when a kernel is compiled
            (sizes, data, long loops), what was not counted, and plans given up.
        milliseconds: the time it took.
    """

    kernel: str
    stage: str
    counted: bool
    contributions: int
    slots: int
    notes: tuple[str, ...]
    milliseconds: float

    def __str__(self) -> str:
        what = (
            f"{self.contributions} contributions, each exactly once in {self.slots} slots"
            if self.counted
            else "not counted"
        )
        notes = f" ({'; '.join(self.notes)})" if self.notes else ""
        return f"{self.kernel}, {self.stage}: {what}{notes}, {self.milliseconds:.1f} ms"


_HISTORY: deque[Verdict] = deque(maxlen=_KEPT)


def remember(verdict: Verdict) -> None:
    """Keep a verdict, and log it."""
    _HISTORY.append(verdict)
    _LOG.info("%s", verdict)


def history() -> tuple[Verdict, ...]:
    """The latest verdicts, oldest first."""
    return tuple(_HISTORY)
