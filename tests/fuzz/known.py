"""Differences that are understood, each with its reason and the kernels that it explains.

An entry goes when its fault does. What it explains is as narrow as it can be said of a kernel's
description, so that other faults still show.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.expression import mentions
from tests.fuzz.kernel import If, Kernel, Loop, walk
from tests.fuzz.verdict import Verdict

#: The statement that raced, where it is the copy into a tile; results and partials are no tiles.
_COPY = re.compile(r"\| (A\d+_s)\[[^]]*\] = ")


@dataclass(frozen=True)
class Known:
    """A fault, the lanes and releases (empty: all) where it shows, and the kernels that it hits."""

    name: str
    reason: str
    statuses: tuple[str, ...]
    hits: Callable[[Kernel, Verdict], bool]
    lanes: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()

    def explains(self, kernel: Kernel, release: str, lane: str, verdict: Verdict) -> bool:
        return (
            verdict.status in self.statuses
            and (not self.lanes or lane in self.lanes)
            and (not self.releases or release in self.releases)
            and self.hits(kernel, verdict)
        )


def explanation(kernel: Kernel, release: str, lane: str, verdict: Verdict) -> str:
    """The name of the known fault that a verdict shows, or nothing."""
    found = (one.name for one in KNOWN if one.explains(kernel, release, lane, verdict))
    return next(found, "")


# -- what is asked of a kernel ----------------------------------------------------------------


def _branch_in_a_branch(kernel: Kernel, verdict: Verdict) -> bool:
    """A conditional of two arms in a parallel loop, around one that the loop does not decide."""
    for loop in walk(kernel.body):
        if isinstance(loop, Loop) and loop.parallel:
            for stmt in walk(loop.body):
                if isinstance(stmt, If) and stmt.other and _decided_outside(stmt, loop):
                    return True
    return False


def _decided_outside(outer: If, loop: Loop) -> bool:
    inner = (stmt for stmt in walk((*outer.then, *outer.other)) if isinstance(stmt, If))
    return any(not mentions(stmt.condition) & set(loop.variables) for stmt in inner)


def _shared_anew(kernel: Kernel, verdict: Verdict) -> bool:
    """A race of the copy into a tile with an access to a tile of another dtype."""
    written = _COPY.search(verdict.detail)
    if written is None or not verdict.detail.startswith("race: "):
        return False
    dtypes = {b.name: b.dtype for b in kernel.buffers if b.scope == "shared"}
    before = verdict.detail[: written.start()]
    return any(
        dtype != dtypes.get(written[1]) and f"{name}[" in before for name, dtype in dtypes.items()
    )


KNOWN = (
    Known(
        "tiles of different dtypes in one place",
        "TileLang puts tiles that live one after the other into the same memory, and leaves a "
        "barrier out where equal elements, not bytes, are a thread's own (test_fuzz_limits.py)",
        ("fault",),
        _shared_anew,
        lanes=("native",),
    ),
    Known(
        "native: an arm of a branch around a branch",
        "TVM's HoistIfThenElse takes the condition of an inner conditional out of the loop with "
        "all of its body, and the other arm of the outer one is lost (test_fuzz_limits.py)",
        ("wrong",),
        _branch_in_a_branch,
        lanes=("native",),
    ),
)
