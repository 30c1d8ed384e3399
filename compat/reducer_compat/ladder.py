"""How else a kernel is lowered, where TileLang loses a part of it or fails.

A kernel is first lowered with all that TileLang and this package have. Where a count fails, an
epoch is divided, or TileLang fails, one feature after another is given up, those that cost the
least first, and the kernel is lowered from the start:

    native        TileLang's own reducers, where mode auto left the kernel to them
    narrow        plans other than one partial for each thread and output
    tma           copies by the tensor memory accelerator
    specialized   producers and consumers of a pipelined loop in warps of their own
    pipelined     software pipelines

Which features are given up follows from the kernel, the target, the pass configs and the
release alone, so that a cache's key for these stands for one lowering.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

_LOG = logging.getLogger("reducer_compat")


class Feature(str, Enum):
    """What may be given up, in the order in which it is."""

    NATIVE = "TileLang's own reducers"
    NARROW = "narrower plan"
    TMA = "tensor copies"
    SPECIALIZED = "warp specialization"
    PIPELINED = "software pipelines"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Descent:
    """A feature that the lowering of a kernel goes without.

    Attributes:
        kernel: its name, or the names of the kernels that were lowered with it.
        feature: what was given up.
        reason: the error that showed, or what was seen in the kernel that TileLang cannot lower.
    """

    kernel: str
    feature: Feature
    reason: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.note}"

    @property
    def note(self) -> str:
        return f"{self.feature} given up: {self.reason}"


Rung = tuple[Descent, ...]
#: Nothing is given up.
TOP: Rung = ()
_RUNG: ContextVar[Rung] = ContextVar("reducer_compat_rung", default=TOP)
#: Features that the attempt has used, of those that not every kernel has.
_USED: ContextVar[set[Feature] | None] = ContextVar("reducer_compat_used", default=None)
#: The names of the functions with reducers that are being lowered.
_NAMES: ContextVar[Callable[[], tuple[str, ...]]] = ContextVar(
    "reducer_compat_names", default=tuple
)
#: The latest descents of this process, oldest first.
_LATEST: deque[Descent] = deque(maxlen=64)


def gave_up(feature: Feature) -> bool:
    """Whether what is being lowered goes without `feature`."""
    return any(descent.feature is feature for descent in _RUNG.get())


def notes() -> tuple[str, ...]:
    """What is given up and why, in words; empty at the top."""
    return tuple(descent.note for descent in _RUNG.get())


def use(feature: Feature) -> None:
    """Say that this lowering has a feature that not every kernel has."""
    used = _USED.get()
    if used is not None:
        used.add(feature)


def lowers(function: str) -> bool:
    """Whether a function has reducers and is being lowered, or is made of one for the device."""
    names = _NAMES.get()()
    return function in names or any(function.startswith(f"{name}_kernel") for name in names)


def lower_all(functions: tuple[str, ...]) -> None:
    """Say which functions with reducers are being lowered, to who asks from here on."""
    _NAMES.set(lambda: functions)


@contextlib.contextmanager
def standing_on(rung: Rung, names: Callable[[], tuple[str, ...]] = tuple) -> Iterator[set[Feature]]:
    """Lower so within; what is yielded are the features that said so by `use`.

    `names` says, when asked, which functions with reducers are lowered.
    """
    used: set[Feature] = set()
    tokens = _RUNG.set(rung), _USED.set(used), _NAMES.set(names)
    try:
        yield used
    finally:
        _RUNG.reset(tokens[0])
        _USED.reset(tokens[1])
        _NAMES.reset(tokens[2])


def below(rung: Rung, descent: Descent) -> Rung:
    """The next rung: what takes another lowering to show starts with narrow plans again."""
    fresh = descent.feature in (Feature.TMA, Feature.SPECIALIZED, Feature.PIPELINED)
    kept = (one for one in rung if not (fresh and one.feature is Feature.NARROW))
    return (*kept, descent)


def remember(rung: Rung) -> None:
    """Keep how a kernel was lowered, and log it."""
    for descent in rung:
        _LATEST.append(descent)
        _LOG.info("%s", descent)


def descents() -> tuple[Descent, ...]:
    """What the latest kernels were lowered without, oldest first."""
    return tuple(_LATEST)
