"""Tell what TileLang loses of a kernel, from its epochs, before it is lowered.

- A loop around a pipelined loop, both inside an epoch: warp specialization moves the opening of
  the epoch into the outer loop (0.1.13 on), or fails (0.1.10 to 0.1.12).
- Where a pipeline gets its stages after tile operations are lowered (0.1.8): an epoch inside a
  pipelined loop, with a loop of its own around updates. The pipeline takes the partials for
  buffers of its stages, and no count comes after it.

Most other epochs around pipelines TileLang lowers right, and what it loses shows afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reducer_compat import ladder
from reducer_compat.adapter import adapter
from reducer_compat.errors import UnfitError
from reducer_compat.ladder import Feature
from reducer_compat.passes.check import epochs
from reducer_compat.passes.collect import Collected
from reducer_compat.passes.split import may_specialize
from reducer_rules.timeline import Alloc, Context, Init, Loop, LoopKind, Timeline, Update


def foresee(func: Any, collected: Collected) -> None:
    """Choose the rung of the ladder that a kernel needs.

    Raises:
        UnfitError: another lowering has to be chosen.
    """
    for timeline in collected.timelines(None):
        for epoch in epochs(timeline):
            _judge(func, collected.kernel, epoch)


def _judge(func: Any, kernel: str, epoch: Timeline) -> None:
    for outside, inside in _loops(epoch):
        if LoopKind.PIPELINED in inside[1:] and _specializes(func):
            raise UnfitError(
                Feature.SPECIALIZED,
                f"the epoch of {epoch.name} goes around a loop around a pipelined loop",
                kernel,
            )
        pipelined = LoopKind.PIPELINED in outside and not ladder.gave_up(Feature.PIPELINED)
        if adapter().pipelines_late and pipelined and inside:
            raise UnfitError(
                Feature.PIPELINED,
                f"the epoch of {epoch.name} has a loop, inside a pipelined loop",
                kernel,
            )


def _specializes(func: Any) -> bool:
    target = func.attrs.get("target")
    return target is not None and may_specialize(target)


def _loops(epoch: Timeline) -> Iterator[tuple[Sequence[LoopKind], Sequence[LoopKind]]]:
    """For each update the kinds of the loops around its epoch, and of those inside, outermost
    first, without the `T.Parallel` loop of the update."""
    opened = next((e for e in epoch.events if isinstance(e, Init)), None)
    opening = opened or next(e for e in epoch.events if isinstance(e, Alloc))
    outside = _kinds(opening.context)
    for event in epoch.events:
        if isinstance(event, Update):
            yield outside, _kinds(event.context)[len(outside) :]


def _kinds(context: Context) -> list[LoopKind]:
    loops = (frame.kind for frame in context if isinstance(frame, Loop))
    return [kind for kind in loops if kind is not LoopKind.PARALLEL]
