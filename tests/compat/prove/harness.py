"""Lower a kernel with one mutant in it, count it, and run it in the interpreter."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reducer_compat import ReducerError, pipeline, simt
from reducer_compat.passes.prove import Verdict, intended, prove
from tests.kernels import Case

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        refusal: what the counter said of what TileLang made of it, empty if it accepted that.
        of_plan: what it said of the plan, of a mutant that is one.
        differs: whether the interpreter's result is not numpy's, or it found a fault.
    """

    refusal: str
    of_plan: str
    differs: bool


@lru_cache(maxsize=1)
def traced(case: Case) -> Any:
    """Its kernel, which all of its mutants begin with."""
    return case.build()


def lowered(case: Case, stage: str, change: Change) -> tuple[Any, list[str]]:
    """The kernel with `change` made at a stage, and what the counter said of it from there on.

    The plan is counted whatever the other count says.
    """
    said: list[str] = []
    first = getattr(pipeline, _LAST[stage])

    def last(func: Any) -> Any:
        return change(first(func))

    def counted(func: Any, where: str, notes: tuple[str, ...] = ()) -> Verdict:
        if stage == "planned":
            said.append(verdict_of(intended(func), stage))
        said.append(verdict_of(func, where))
        return Verdict("", where, True, 0, 0, (), 0.0)

    with patched(**{_LAST[stage]: last, "prove": counted}):
        return simt.lower(traced(case)), said


def verdict_of(func: Any, stage: str) -> str:
    """What the counter has against a kernel; empty for nothing."""
    try:
        verdict = prove(func, stage)
    except ReducerError as error:
        return str(error)
    return "" if verdict.counted else "; ".join(verdict.notes)


def outcome(case: Case, stage: str, change: Change) -> Outcome:
    """Count and run a mutant."""
    kernel, said = lowered(case, stage, change)
    *of_plan, refusal = said
    return Outcome(refusal, "".join(of_plan), differs(case, kernel))


def differs(case: Case, kernel: Any) -> bool:
    arrays = case.arguments()
    try:
        result = simt.execute_lowered(kernel, *arrays, out_idx=-1)
    except Exception:  # the interpreter refuses it: it would not run on a GPU either
        return True
    wanted = case.reference(arrays).astype(np.float64).reshape(case.output[0])
    got = np.asarray(result.outputs[0]).astype(np.float64)
    return not np.array_equal(got, wanted)


_LAST = {"planned": "settled", "lowered": "crowded"}


@contextlib.contextmanager
def patched(**values: Any) -> Iterator[None]:
    """Other functions in the pipeline."""
    saved = {name: getattr(pipeline, name) for name in values}
    for name, value in values.items():
        setattr(pipeline, name, value)
    try:
        yield
    finally:
        for name, value in saved.items():
            setattr(pipeline, name, value)
