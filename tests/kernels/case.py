"""What an acceptance kernel is, and the list of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]

FAMILIES = (
    "counting",
    "tiles",
    "sites",
    "streaming",
    "values",
    "specialized",
    "nests",
    "barriers",
    "divided",
    "parts",
    "blocks",
    "launches",
    "symbolic",
    "shapes",
    "epochs",
    "dtypes",
    "halves",
    "widths",
    "legacy",
    "benchmarked",
)


@dataclass(frozen=True)
class Case:
    """One kernel. Its last parameter is the output, the others are the inputs.

    `item` is the line of the acceptance list that it shows. `rtol` is relative to the largest
    magnitude of the expected result; 0 asks for equality.
    """

    name: str
    item: str
    build: Callable[[], Any]
    inputs: Callable[[np.random.Generator], Arrays]
    expected: Callable[..., np.ndarray]
    output: tuple[tuple[int, ...], str]
    rtol: float = 0.0

    def arguments(self) -> Arrays:
        """The inputs, the same in every run."""
        return self.inputs(np.random.default_rng(sum(map(ord, self.name))))

    def reference(self, arrays: Arrays) -> np.ndarray:
        return np.asarray(
            self.expected(
                *(
                    a.astype(np.float64) if a.dtype.kind == "f" or a.dtype.kind == "V" else a
                    for a in arrays
                )
            )
        )


def all_cases() -> tuple[Case, ...]:
    """Every acceptance kernel."""
    found: list[Case] = []
    for family in FAMILIES:
        found += import_module(f"tests.kernels.{family}").cases()
    return tuple(found)


def integers(
    *shapes: tuple[int, ...], low: int = -4, high: int = 5, dtype: str = "float32"
) -> Callable[[np.random.Generator], Arrays]:
    """Inputs of small whole numbers, so that every order of summation gives the same result."""

    def make(rng: np.random.Generator) -> Arrays:
        return tuple(rng.integers(low, high, shape).astype(numpy_dtype(dtype)) for shape in shapes)

    return make


def numpy_dtype(dtype: str) -> Any:
    """The numpy dtype of a TileLang dtype; bfloat16 comes from ml_dtypes."""
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)
