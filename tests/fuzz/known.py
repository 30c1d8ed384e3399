"""Differences that are understood, each with its reason and the kernels that it explains.

An entry goes when its fault does. What it explains is as narrow as it can be said of a kernel's
description, so that other faults still show.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.fuzz.expression import mentions
from tests.fuzz.kernel import (
    Kernel,
    Loop,
    Stmt,
    Store,
    Update,
    expressions,
    walk,
)
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


def _small_fragment_tile(kernel: Kernel, verdict: Verdict) -> bool:
    """A loop over fragments that has fewer iterations than there are threads."""
    return any(math.prod(loop.extents) < kernel.threads for loop in _over_fragments(kernel))


def _over_fragments(kernel: Kernel) -> Iterator[Loop]:
    """The parallel loops that hold an update and touch a fragment or a result."""
    fragments = {buffer.name for buffer in kernel.buffers if buffer.scope == "fragment"}
    fragments |= {reducer.name for reducer in kernel.reducers}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Loop) and stmt.parallel:
            inside = list(walk(stmt.body))
            if any(isinstance(one, Update) for one in inside) and _touched(inside) & fragments:
                yield stmt


def _touched(body: list[Stmt]) -> set[str]:
    """The buffers and reducers that statements read, and the buffers that they store to."""
    found: set[str] = set()
    for stmt in body:
        found = found.union(*map(mentions, expressions(stmt)))
        found |= {stmt.buffer} if isinstance(stmt, Store) else set()
    return found


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
    ),
    Known(
        "native: small fragment tile",
        "TileLang 0.1.14 and 0.1.15 derive no collective where a loop over fragments has fewer "
        "iterations than there are threads: every output is one contribution "
        "(test_fuzz_limits.py)",
        ("wrong",),
        _small_fragment_tile,
        lanes=("native",),
    ),
)
