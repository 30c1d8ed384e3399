"""Compare what a kernel gave before and after the rewrite with what its source adds up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from reducer_migrate.verify.worker import WorkerError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Outputs = Mapping[str, Mapping[str, NDArray[Any]]]

#: How far two floats may lie apart, relative to the largest of the output: sums are exact on
#: these inputs, so this is for functions such as `exp`, and for roundings in between.
_TOLERANCE = {"float64": 1e-6, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
_NARROWEST = 0.13


class Verdict(Enum):
    """What a comparison came to."""

    RIGHT = "right"
    EQUAL = "v1 and v2 agree"
    V1_WRONG = "v1 is wrong"
    V2_WRONG = "v2 is wrong"
    DIFFERENT = "v1 and v2 differ"
    NOT_REWRITTEN = "not rewritten"
    NOT_RUN = "not run"

    @property
    def mismatch(self) -> bool:
        """Whether this fails a run: numbers differ, or something is left to rewrite."""
        return self not in (Verdict.RIGHT, Verdict.EQUAL, Verdict.NOT_RUN)


@dataclass(frozen=True)
class Side:
    """A kernel before or after the rewrite: what it wrote by variant and name, or why not.

    `dtypes` are those of the outputs, `faults` what the interpreter found.
    """

    outputs: Outputs | None = None
    dtypes: Mapping[str, str] | None = None
    faults: tuple[str, ...] = ()
    error: WorkerError | None = None


@dataclass(frozen=True)
class Place:
    """One element of one output."""

    variant: str
    name: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.index))}]"

    def of(self, outputs: Outputs) -> float:
        """The element."""
        return float(outputs[self.variant][self.name][self.index])


@dataclass(frozen=True)
class Comparison:
    """The verdict on one kernel.

    `place` is the first element that differs, or the first of all, and `values` what it is in
    `v1`, `v2` and `counted`. `observed` is the factor between v1 and what is right.
    """

    verdict: Verdict
    reason: str = ""
    place: Place | None = None
    values: Mapping[str, float] | None = None
    observed: str = ""


def compare(v1: Side | None, v2: Side, counted: Side | None) -> Comparison:
    """Judge one kernel; `v1` is None where there is nothing to rewrite.

    `counted` is what the contributions add up to that stand in the source, None or an error where
    they could not be counted.
    """
    if v2.outputs is None or v2.dtypes is None:
        return Comparison(Verdict.NOT_RUN, _why_not(v1, v2))
    before = None if v1 is None else v1.outputs
    truth = counted.outputs if counted is not None else None
    right = v2.outputs if truth is None else truth
    if _first(right) is None:
        return Comparison(Verdict.NOT_RUN, "it writes to no tensor: there is nothing to compare")
    place = first_difference(v2.outputs, right, v2.dtypes)
    verdict, reason = _judge_v2(v2, place)
    if verdict is Verdict.RIGHT:
        differs = None if before is None else first_difference(before, right, v2.dtypes)
        verdict, reason = _judge_v1(v1, truth, differs)
        place = differs
    place = place or _first(right)
    held = {"v1": before, "v2": v2.outputs, "counted": truth}
    values = {
        name: place.of(outputs)
        for name, outputs in held.items()
        if outputs is not None and place is not None
    }
    observed = "" if before is None else factor(before, right, v2.dtypes)
    return Comparison(verdict, reason, place, values, observed)


def _why_not(v1: Side | None, v2: Side) -> str:
    """Why v2 was not run; what holds for both sides is said with the lines of the original."""
    first = None if v1 is None else v1.error
    if first is not None and v2.error is not None and first.kind == v2.error.kind:
        return str(first)
    return f"v2: {v2.error}"


def _judge_v2(v2: Side, differs: Place | None) -> tuple[Verdict, str]:
    if differs is not None:
        return Verdict.V2_WRONG, "v2 is not what the source adds up to"
    if v2.faults:
        return Verdict.V2_WRONG, f"v2: {_one_line(v2.faults[0])}"
    return Verdict.RIGHT, ""


def _judge_v1(v1: Side | None, truth: Outputs | None, differs: Place | None) -> tuple[Verdict, str]:
    """The verdict where v2 is what the source adds up to, or nothing is known against it."""
    if differs is not None:
        return (Verdict.DIFFERENT if truth is None else Verdict.V1_WRONG), ""
    if v1 is not None and v1.faults:
        return Verdict.V1_WRONG, f"v1: {_one_line(v1.faults[0])}"
    failed = "" if v1 is None or v1.error is None else f"v1: {v1.error}"
    if truth is not None:
        return Verdict.RIGHT, failed
    if v1 is None or v1.outputs is None:
        return Verdict.NOT_RUN, failed or "nothing to compare v2 with"
    return Verdict.EQUAL, ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def first_difference(left: Outputs, right: Outputs, dtypes: Mapping[str, str]) -> Place | None:
    """The first element in which two runs differ by more than rounding, or None."""
    import numpy as np

    for variant, arrays in right.items():
        for name, wanted in arrays.items():
            equal = _equal(left[variant][name], wanted, dtypes[name])
            if not equal.all():
                flat = int(np.argmin(equal))
                index = np.unravel_index(flat, wanted.shape)
                return Place(variant, name, tuple(int(each) for each in index))
    return None


def _equal(left: Any, right: Any, dtype: str) -> NDArray[Any]:
    """Where two outputs are equal; floats up to the rounding of their dtype."""
    import numpy as np

    if right.dtype.kind in "biu":
        return np.asarray(left == right)
    tolerance = _TOLERANCE.get(dtype, _NARROWEST)
    finite = np.abs(right[np.isfinite(right)])
    scale = float(finite.max()) if finite.size else 0.0
    close = np.isclose(left, right, rtol=0, atol=tolerance * scale, equal_nan=True)
    return np.asarray(close | (left == right))


def factor(before: Outputs, right: Outputs, dtypes: Mapping[str, str]) -> str:
    """How many times too large the numbers of v1 are: `16x`, or `2x to 16x`.

    Of the variant in which all inputs are positive; elements whose right value is 0 or not finite
    do not count.
    """
    import numpy as np

    variant = next(iter(right))
    ratios = []
    for name, wanted in right[variant].items():
        got = np.asarray(before[variant][name], dtype=np.float64)
        equal, want = _equal(got, wanted, dtypes[name]), np.asarray(wanted, dtype=np.float64)
        with np.errstate(all="ignore"):
            found = np.where(equal, 1.0, got / want)
        ratios.append(found[equal | (np.isfinite(want) & (want != 0))].ravel())
    every = np.concatenate(ratios) if ratios else np.array([])
    if not every.size:
        return ""
    if not np.isfinite(every).all():
        return "not finite"
    low, high = float(every.min()), float(every.max())
    return f"{low:.4g}x" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g}x to {high:.4g}x"


def _first(outputs: Outputs) -> Place | None:
    for variant, arrays in outputs.items():
        for name, array in arrays.items():
            if array.size:
                return Place(variant, name, (0,) * array.ndim)
    return None
