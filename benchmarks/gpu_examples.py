"""Run the examples on a GPU, as they are and rewritten, against numpy.

    cp -r examples /tmp/v2 && reducer-migrate --tilelang 0.1.15 /tmp/v2
    python benchmarks/gpu_examples.py examples /tmp/v2

Each folder is one column; a folder that the TileLang at hand does not compile says so. Set
`REDUCER_COMPAT=canonical` to import the runtime first. Needs a CUDA GPU, torch and TileLang; ends
with 1 where the last folder has a wrong result.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "compat"), str(ROOT / "rules")]
if os.environ.get("REDUCER_COMPAT", "off") != "off":
    import reducer_compat  # noqa: F401

import tilelang  # noqa: E402
import torch  # noqa: E402

Arrays = tuple[np.ndarray[Any, Any], ...]
RNG = np.random.default_rng(7)


def gemv() -> tuple[tuple[Any, ...], Arrays, Arrays]:
    a = RNG.standard_normal((512, 2048)).astype("float16")
    x = RNG.standard_normal(2048).astype("float16")
    return (512, 2048), (a, x), (a.astype("float64") @ x.astype("float64"),)


def quantization_scale() -> tuple[tuple[Any, ...], Arrays, Arrays]:
    x = RNG.standard_normal((64, 512)).astype("float16")
    groups = np.abs(x.astype("float64")).reshape(64, 4, 128).max(-1)
    return (64, 512), (x,), (np.maximum(groups, 1e-4) / 127,)


def smallest_k() -> tuple[tuple[Any, ...], Arrays, Arrays]:
    x = RNG.permutation(16 * 256).reshape(16, 256).astype("float32")
    return (16, 256), (x,), (np.sort(x, axis=1)[:, :4].astype("float64"),)


def softmax_statistics() -> tuple[tuple[Any, ...], Arrays, Arrays]:
    x = RNG.standard_normal((64, 512)).astype("float32")
    top = x.astype("float64").max(1)
    return (64, 512), (x,), (top, np.exp(x - top[:, None]).sum(1))


EXAMPLES: tuple[Callable[[], tuple[tuple[Any, ...], Arrays, Arrays]], ...] = (
    gemv,
    quantization_scale,
    smallest_k,
    softmax_statistics,
)


def load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def verdict(folder: Path, name: str, shape: tuple[Any, ...], given: Arrays, wanted: Arrays) -> str:
    """`right`, how far off, or the first line of what the compiler says."""
    try:
        outputs = list(range(len(given), len(given) + len(wanted)))
        kernel = tilelang.compile(load(folder / f"{name}.py", name)(*shape), out_idx=outputs)
        got = kernel(*(torch.from_numpy(array).cuda() for array in given))
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0][:60]}"
    results = got if isinstance(got, list | tuple) else [got]
    worst = 0.0
    for result, expected in zip(results, wanted, strict=True):
        difference = np.abs(result.double().cpu().numpy().reshape(expected.shape) - expected)
        worst = max(worst, float((difference / (np.abs(expected) + 1e-2)).max()))
    return "right" if worst < 2e-2 else f"wrong: {worst:.3g} relative"


def main(folders: list[Path]) -> int:
    code = 0
    for example in EXAMPLES:
        shape, given, wanted = example()
        for folder in folders:
            said = verdict(folder, example.__name__, shape, given, wanted)
            print(
                f"{tilelang.__version__:8} {example.__name__:20} {folder!s:12} {said}", flush=True
            )
            if folder == folders[-1] and said != "right":
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))
