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
    Open,
    Stmt,
    Store,
    Update,
    children,
    expressions,
    walk,
)
from tests.fuzz.verdict import LANES, Verdict


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


def _paths(
    body: tuple[Stmt, ...], around: tuple[Loop, ...] = ()
) -> Iterator[tuple[Stmt, tuple[Loop, ...]]]:
    """Every statement with the loops around it."""
    for stmt in body:
        yield stmt, around
        inner = (*around, stmt) if isinstance(stmt, Loop) else around
        for part in children(stmt):
            yield from _paths(part, inner)


def _specialized(kernel: Kernel) -> bool:
    """Whether TileLang may specialize warps."""
    return kernel.arch == "sm_90" and any(
        isinstance(stmt, Loop) and stmt.kind == "pipelined" for stmt in walk(kernel.body)
    )


def _epoch_around_a_pipeline(kernel: Kernel, verdict: Verdict) -> bool:
    """An epoch with a part outside the pipelined loop, or with a loop around the pipeline."""
    if not _specialized(kernel):
        return False
    paths = list(_paths(kernel.body))
    for reducer in kernel.reducers:
        opened = next(a for s, a in paths if isinstance(s, Open) and s.reducer == reducer.name)
        sites = [a for s, a in paths if isinstance(s, Update) and s.reducer == reducer.name]
        inside = [
            [loop.kind for loop in around[len(opened) :] if not loop.parallel] for around in sites
        ]
        piped = [kinds for kinds in inside if "pipelined" in kinds]
        if piped and (len(piped) < len(inside) or any(kinds != ["pipelined"] for kinds in piped)):
            return True
    return False


def _reads_fragments(kernel: Kernel, verdict: Verdict) -> bool:
    """A warp-specialized kernel with a loop of updates over fragments or results."""
    return _specialized(kernel) and any(_over_fragments(kernel))


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


def _epoch_inside_a_pipeline(kernel: Kernel, verdict: Verdict) -> bool:
    """A whole epoch in the body of a pipelined loop."""
    return any(
        isinstance(stmt, Open) and any(loop.kind == "pipelined" for loop in around)
        for stmt, around in _paths(kernel.body)
    )


def _shared_anew(kernel: Kernel, verdict: Verdict) -> bool:
    """A race with the copy into a tile, where tiles differ in dtype."""
    dtypes = {buffer.dtype for buffer in kernel.buffers if buffer.scope == "shared"}
    written = _COPY.search(verdict.detail)
    return len(dtypes) > 1 and verdict.detail.startswith("race: ") and written is not None


def _stuck(kernel: Kernel, verdict: Verdict) -> bool:
    """Producers or consumers of a warp-specialized kernel that wait for ever."""
    waits = verdict.detail.startswith("divergent-barrier: waits for mbarrier")
    return waits and _specialized(kernel)


def _counted_off(kernel: Kernel, verdict: Verdict) -> bool:
    """The runtime saw in a warp-specialized kernel that an epoch is divided, or counted it."""
    return _specialized(kernel) and verdict.detail.startswith(("RC003", "RC006"))


#: The statement that raced, where it is the copy into a tile; results and partials are no tiles.
_COPY = re.compile(r"\| A\d+_s\[[^]]*\] = ")

KNOWN = (
    Known(
        "bulk copy without an arrival",
        "on these releases nothing arrives at the barrier of a warp-specialized copy of a "
        "contiguous tile, reducers or not (test_fuzz_limits.py)",
        ("fault",),
        _stuck,
        releases=("0.1.9", "0.1.10", "0.1.11", "0.1.12"),
    ),
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
    Known(
        "epoch around a warp-specialized pipeline",
        "contributions outside the pipelined loop are made by other threads than the finalize "
        "combines, and an opening before a loop around the pipeline is repeated in it; native "
        "loses the former too",
        ("wrong", "fault"),
        _epoch_around_a_pipeline,
    ),
    Known(
        "refused under warp specialization",
        "updates before the pipelined loop are run by other threads than those that finalize: the "
        "runtime counts that, and compiles nothing",
        ("refused",),
        _counted_off,
    ),
    Known(
        "guards of warp-specialized updates",
        "on these releases a loop layout counts the threads of the consumers from the producers' "
        "on, and an update that waits for it is guarded away",
        ("wrong", "fault"),
        _reads_fragments,
        releases=("0.1.11", "0.1.12"),
    ),
    Known(
        "epoch inside a pipeline",
        "TileLang gives a partial that one stage writes and another reads one version for each "
        "stage, and the marker of an update does not follow",
        ("refused", "error", "wrong"),
        _epoch_inside_a_pipeline,
        lanes=tuple(lane for lane in LANES if lane != "native"),
    ),
)
