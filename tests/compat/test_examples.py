"""Every example of the repository gives numpy's numbers, on whatever TileLang is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reducer_compat  # noqa: F401
from reducer_compat import simt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Example:
    """One kernel of `examples/`: its arguments, its input, and numpy's results."""

    name: str
    shape: tuple[int, ...]
    inputs: Callable[[np.random.Generator], tuple[Array, ...]]
    expected: Callable[..., tuple[Array, ...]]


def matrix(rows: int, columns: int, dtype: str) -> Callable[[np.random.Generator], Any]:
    """A matrix of small integers, no two of them neighbours of equal value by design."""
    return lambda rng: (rng.permutation(rows * columns).reshape(rows, columns).astype(dtype),)


def gemv(a: Array, x: Array) -> tuple[Array, ...]:
    return (a.astype("float64") @ x.astype("float64"),)


def scales(x: Array) -> tuple[Array, ...]:
    groups = np.abs(x.astype("float64")).reshape(len(x), -1, 128).max(-1)
    return (np.maximum(groups, 1e-4) / 127,)


def smallest(x: Array) -> tuple[Array, ...]:
    return (np.sort(x, axis=1)[:, :4],)


def statistics(x: Array) -> tuple[Array, ...]:
    top = x.max(1)
    return top, np.exp(x.astype("float64") - top[:, None]).sum(1)


CASES = (
    Example(
        "gemv",
        (32, 512),
        lambda rng: (
            rng.integers(-4, 5, (32, 512)).astype("float16"),
            rng.integers(-4, 5, 512).astype("float16"),
        ),
        gemv,
    ),
    Example(
        "quantization_scale",
        (16, 256),
        lambda rng: (rng.standard_normal((16, 256)).astype("float16"),),
        scales,
    ),
    Example("smallest_k", (4, 256), matrix(4, 256, "float32"), smallest),
    Example(
        "softmax_statistics",
        (8, 512),
        lambda rng: (rng.standard_normal((8, 512)).astype("float32"),),
        statistics,
    ),
)


def load(name: str) -> Any:
    """The function of an example that makes its kernel."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
@pytest.mark.parametrize("example", CASES, ids=lambda example: example.name)
def test_an_example_gives_numpys_numbers(example: Example, target: str) -> None:
    given = example.inputs(np.random.default_rng(3))
    wanted = example.expected(*given)
    places = list(range(len(given), len(given) + len(wanted)))
    got = simt.run(load(example.name)(*example.shape), *given, out_idx=places, target=target)
    results = got if isinstance(got, list | tuple) else [got]
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(result, "float64"), expected, rtol=1e-5)


def test_every_example_is_run() -> None:
    found = {path.stem for path in EXAMPLES.glob("*.py")}
    assert {example.name for example in CASES} == found
