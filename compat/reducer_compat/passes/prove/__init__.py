"""Count every contribution, on what TileLang made of a plan, and on the plan where that fails.

An update has to enter its output exactly once, whatever threads, layouts, guards and collectives
it goes through. This package executes a kernel for all threads of a block, with sums of weights
in place of values (`weights`), and compares every slot that a destination is read from with what
the statements of the kernel say (`source`). It knows nothing of plans: it reads loads, stores,
shuffles and layouts, so that a new kind of plan is counted without a change here.

tags        names for contributions and finalizes, that travel with them through TileLang
source      what should be counted
program     TIR to the few statements through which contributions pass (`nodes`, `values`)
lanes, expr, layouts, collectives      their parts
machine     the memory of a run
count       both sides, compared
blame       the contribution at fault, with thread and iteration

The user sees a `reducer_compat.verdict.Verdict`.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reducer_compat.errors import ReducerError
from reducer_compat.passes.prove import blame, source
from reducer_compat.passes.prove.count import MiscountError, StrayError, Tally, count, read_program
from reducer_compat.passes.prove.machine import NotCountedError, Stray
from reducer_compat.passes.prove.program import Program
from reducer_compat.passes.prove.tags import strip, tag
from reducer_compat.verdict import Verdict, history, remember

__all__ = [
    "Verdict",
    "forget",
    "history",
    "intend",
    "intended",
    "keep",
    "prove",
    "remember",
    "tag",
]

#: The attribute of a kernel that says where its source is kept.
SOURCE = "reducer_compat.source"
#: Sources that are kept for kernels on their way through TileLang. One that fails on the way
#: leaves its source here; the oldest go first.
_MOST_SOURCES = 1024
_SOURCES: dict[int, Authored] = {}
_NUMBERS = itertools.count()
#: What to do about a count that fails, once everything that can be given up was.
REPORT = "report this kernel: the code that was made for it is wrong, not the kernel"


@dataclass
class Authored:
    """What the author of a kernel wrote, as `tag` has named it.

    Attributes:
        intended: the kernel as it was planned, from then on.
        named: of a kernel that was counted, the statements with named contributions.
    """

    body: Any
    intended: Any = None
    named: dict[int, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def source(self) -> source.Source:
        """What should be counted; what is lowered and what was planned are held against one."""
        return source.read(self.body)


def keep(func: Any, body: Any) -> Any:
    """`func`, remembering `body`, what its author wrote as `tag` has named it.

    It is kept beside TVM: a kernel with a statement in its attributes cannot be printed.
    """
    number = next(_NUMBERS)
    _SOURCES[number] = Authored(body)
    _SOURCES.pop(number - _MOST_SOURCES, None)
    return func.with_attr(SOURCE, number)


def intend(func: Any) -> Any:
    """`func`, remembering that it was planned like this: TIR never changes."""
    _SOURCES[int(func.attrs[SOURCE])].intended = func
    return func


def intended(func: Any) -> Any:
    """A kernel as it was planned."""
    return _SOURCES[int(func.attrs[SOURCE])].intended


def forget(func: Any) -> Any:
    """`func` without names and without its source."""
    authored = _SOURCES.pop(int(func.attrs[SOURCE]), None)
    named = authored.named.get(hash(func.body)) if authored is not None else None
    return strip(func, named).without_attr(SOURCE)


def prove(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
    """Count a kernel.

    Args:
        func: a kernel that `keep` made, by now somewhere in TileLang's pipeline.
        stage: ``planned`` or ``lowered``.
        notes: to put into the verdict.

    Raises:
        ReducerError: RC006, a contribution is not counted exactly once, or a write leaves a buffer
            that contributions pass through.
    """
    start = time.perf_counter()
    kernel = str(func.attrs["global_symbol"])
    authored = _SOURCES[int(func.attrs[SOURCE])]
    planned = stage == "planned"
    try:
        program = read_program(authored.source, func, planned)
        tally, counted = count(authored.source, program), True
        authored.named = {hash(func.body): program.named}
    except NotCountedError as error:
        tally, counted = Tally(0, 0, [f"not counted: {error}"]), False
    except MiscountError as error:
        raise _refusal(authored.source, program, kernel, stage, error) from None
    except StrayError as error:
        raise _outside(authored.source, program, error.stray, kernel, stage) from None
    took = (time.perf_counter() - start) * 1000
    return Verdict(
        kernel, stage, counted, tally.contributions, tally.slots, (*notes, *tally.notes), took
    )


def _refusal(
    read: source.Source, program: Program, kernel: str, stage: str, error: MiscountError
) -> ReducerError:
    found = blame.explain(read, program, error.wrong, error.key, error.assumption)
    return ReducerError(
        "RC006",
        f"{found.message} (counted on the {stage} kernel)",
        kernel=kernel,
        location=found.location,
        fix=REPORT,
    )


def _outside(
    read: source.Source, program: Program, stray: Stray, kernel: str, stage: str
) -> ReducerError:
    """What a thread writes elsewhere, with the finalize of the reducer that it seems to be of."""
    names = {number: where.memory.name for number, where in program.destinations.items()}
    ends = sorted(
        read.ends.items(),
        key=lambda one: (
            names.get(one[0]) != stray.name and not stray.name.startswith(one[1].reducer)
        ),
    )
    end = ends[0][1]
    return ReducerError(
        "RC006",
        f"thread {stray.thread} writes element {stray.place} of {stray.name}, which has "
        f"{stray.size}, in an epoch of reducer {end.reducer} (counted on the {stage} kernel)",
        kernel=kernel,
        location=end.location,
        fix=REPORT,
    )
