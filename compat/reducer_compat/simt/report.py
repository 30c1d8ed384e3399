"""What a run found: faults with their place, and the errors that stop a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Index3 = tuple[int, int, int]


@dataclass(frozen=True)
class Fault:
    """One kind of fault at one statement: where it happened first, and how often.

    `kind` is one of `divergent-barrier`, `unwritten-read`, `unwritten-output`, `out-of-bounds`,
    `race`, `inactive-lane`, `misaligned`, `division-by-zero`, `assertion`, `read-only` and
    `lapped-wait`.
    `block` and `thread` are (x, y, z), or None for a fault of the whole launch.
    """

    kind: str
    message: str
    statement: str
    block: Index3 | None
    thread: Index3 | None
    count: int = 1

    def __str__(self) -> str:
        where = f" at block {self.block}, thread {self.thread}" if self.block is not None else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.kind}{where}: {self.message}{times}\n    in: {self.statement}"


@dataclass(frozen=True)
class Report:
    """What one run of a kernel found, and what it did."""

    faults: tuple[Fault, ...]
    blocks: int
    threads: int
    steps: int
    seconds: float

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.faults

    def of(self, kind: str) -> tuple[Fault, ...]:
        """The faults of one kind, in the order in which they were found."""
        return tuple(f for f in self.faults if f.kind == kind)

    def __str__(self) -> str:
        head = f"{self.blocks} blocks of {self.threads} threads, {self.seconds:.2f} s"
        if self.ok:
            return f"{head}: no faults"
        return "\n".join([f"{head}: {len(self.faults)} faults", *map(str, self.faults)])


class SimtError(Exception):
    """A kernel could not be run, or its run found faults.

    `report` holds the findings when there was a run.
    """

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


class UnsupportedError(SimtError):
    """The kernel uses something that the interpreter does not know; the message names it."""

    def __init__(self, what: str, where: str | None = None, placed: bool = False) -> None:
        self.what = what
        self.where = where
        self.placed = placed
        place = f"\n    in: {where}" if where else ""
        super().__init__(
            f"the SIMT interpreter does not know {what}; it never guesses. "
            f"Lower for another target (the default is sm_75), or run this kernel on a GPU.{place}"
        )


@dataclass
class Findings:
    """Collects faults during a run; one entry for each kind at each statement."""

    _first: dict[tuple[str, int], Fault] = field(default_factory=dict)
    _count: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, sid: int, fault: Fault) -> None:
        """Records a fault at statement `sid`; later ones there only count."""
        key = (fault.kind, sid)
        self._first.setdefault(key, fault)
        self._count[key] = self._count.get(key, 0) + fault.count

    def known(self, kind: str, sid: int, more: int) -> bool:
        """Whether this was found before; if so counts `more`, which saves formatting it again."""
        key = (kind, sid)
        if key not in self._first:
            return False
        self._count[key] += more
        return True

    def faults(self) -> tuple[Fault, ...]:
        """All faults with their counts, in the order in which they were found."""
        return tuple(_counted(f, self._count[k]) for k, f in self._first.items())


def _counted(fault: Fault, count: int) -> Fault:
    values: dict[str, Any] = {**fault.__dict__, "count": count}
    return Fault(**values)
