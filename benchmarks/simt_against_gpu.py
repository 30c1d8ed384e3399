"""Whether the interpreter computes what a GPU computes, on the kernels of the tests.

    python benchmarks/simt_against_gpu.py save RESULTS.npz       where torch sees a GPU
    python benchmarks/simt_against_gpu.py compare RESULTS.npz    anywhere

`save` compiles and runs every case with the installed TileLang and writes the outputs, bit for bit;
`compare` runs the same kernels in the interpreter, lowered for the GPU's architecture, prints a row
for each case, and exits with 1 where an output differs. Inputs are whole numbers where sums are
reassociated, so that those are exact in any order and compare bit for bit; functions such as `exp`
are compared within the bound in the case's row. Both sides need the same TileLang release, and the
same `REDUCER_COMPAT`: TileLang's own lowering by default (`off`), ours with `canonical`, which also
runs every acceptance kernel.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "rules"), str(ROOT / "compat")]
STOCK = os.environ.setdefault("REDUCER_COMPAT", "off") == "off"

import reducer_compat  # noqa: E402, F401
from tests.compat.simt import kernels as k  # noqa: E402
from tests.kernels import all_cases  # noqa: E402

SEED = 29
COMPILERS = 12


@dataclass(frozen=True)
class Case:
    """A kernel with inputs. `out_idx` None passes all arrays, and compares them all.

    `bound` is the largest relative difference; 0 compares bits.
    """

    name: str
    kernel: Callable[[], Any]
    inputs: tuple[Any, ...]
    out_idx: tuple[int, ...] | None = (-1,)
    bound: float = 0.0


def cases() -> list[Case]:
    """The cases of this release, with inputs that are the same in every run."""
    rng = np.random.default_rng(SEED)

    def whole(*shape: int, dtype: str = "float32") -> Any:
        return rng.integers(-9, 9, shape).astype(dtype)

    def real(*shape: int, dtype: str = "float32") -> Any:
        return rng.standard_normal(shape).astype(dtype)

    bf16 = np.dtype(ml_dtypes.bfloat16)
    ones = np.ones((8, 128), "float32")
    half = "float16"
    found = [
        Case("sum of 1..8", k.sum8, (np.arange(1, 9, dtype="float32"),)),
        Case("two sites of widths 8 and 16", k.two_sites, (whole(8), whole(16))),
        Case("serial inside parallel", k.serial_inside, (whole(8, 32),)),
        Case("beside a fragment write", k.beside_fragment, (whole(64),), (1, 2)),
        Case("row sums", partial(k.rows, "sum", 16, 128, "float32"), (whole(16, 128),)),
        Case(
            "row sums, half",
            partial(k.rows, "sum", 16, 128, half),
            (real(16, 128, dtype=half),),
        ),
        Case("row maxima", partial(k.rows, "max", 8, 128, "float32"), (real(8, 128),)),
        Case("row absolute maxima", partial(k.rows, "absmax", 8, 128, "float32"), (real(8, 128),)),
        Case("scan", partial(k.scan, 1, False), (whole(16, 128),)),
        Case("scan, reversed", partial(k.scan, 0, True), (whole(16, 128),)),
        Case("softmax", partial(k.softmax, 8, 256), (real(8, 256, dtype=half),), bound=2e-3),
        Case("swizzled tiles", partial(k.swizzled, 100, 128), (real(100, 128, dtype=half),)),
        Case("ragged tiles", partial(k.copied, 100, 70), (real(100, 70),)),
        Case("tile sums", partial(k.tile_sums, 6), (whole(64, 384),)),
        Case("persistent", k.persistent, (whole(16, 128),)),
        Case("early return", k.early_return, (real(64),)),
        Case("while", k.logarithm, (rng.integers(1, 1 << 20, 64).astype("int32"),)),
        Case("breaks", k.broken_off, (np.arange(64, dtype="int32"),)),
        Case("vectors", k.relu_vectors, (real(256, dtype=half),)),
        Case("atomics of four", k.quadruples, (whole(256), np.zeros(256, "float32")), None),
        Case(
            "AllReduce 128 at 16",
            partial(k.all_reduce, "tl::SumOp, 128, 16, 0", 128),
            (real(128),),
        ),
        Case("exp", partial(k.per_thread, k.exponential), (real(64),), bound=1e-6),
        Case("float32 to bfloat16", partial(k.converted, "float32", "bfloat16"), (real(128),)),
        Case("float32 to float8", partial(k.converted, "float32", k.FP8), (300 * real(128),)),
        Case(
            "float16 to int8",
            partial(k.converted, half, "int8"),
            (9 * real(128, dtype=half),),
        ),
        Case(
            "bfloat16 to float32",
            partial(k.converted, "bfloat16", "float32"),
            (real(128).astype(bf16),),
        ),
    ]
    if not (k.GARBAGE and STOCK):
        halves = (whole(64, 512, dtype=half), whole(512, dtype=half))
        found.append(Case("pipelined GEMV", partial(k.gemv, 64, 512), halves))
    if k.BATCHES:
        found += [
            Case(f"finalize in batches of {b}", lambda b=b: k.batched(b), (ones,))
            for b in (1, 2, 8)
        ]  # type: ignore[misc]
    if not STOCK:
        found += [
            Case(f"acceptance: {case.name}", case.build, case.arguments(), bound=case.rtol)
            for case in all_cases()
        ]
    return found


# -- on the GPU -----------------------------------------------------------------------------------


def to_torch(value: Any) -> Any:
    """A numpy array on the GPU; the narrow floats travel as bytes."""
    import torch

    if value.dtype.kind != "V":
        return torch.from_numpy(value.copy()).cuda()
    names = {"float8_e4m3": "float8_e4m3fn"}
    dtype = getattr(torch, names.get(value.dtype.name, value.dtype.name))
    return torch.from_numpy(value.view(np.uint8).copy()).cuda().view(dtype)


def to_bytes(tensor: Any) -> Any:
    """A tensor's bytes, in order."""
    import torch

    return tensor.contiguous().reshape(-1).view(torch.uint8).cpu().numpy()


def measure(case: Case, compiled: Any) -> list[Any]:
    """The bytes of a case's outputs, as the GPU computes them."""
    arrays = [to_torch(a) for a in case.inputs]
    result = compiled(*arrays)
    if case.out_idx is None:
        return [to_bytes(a) for a in arrays]
    return [to_bytes(t) for t in (result if isinstance(result, (list, tuple)) else [result])]


def compiled(case: Case) -> Any:
    """The case's kernel for the GPU that is here, or the error that stopped it."""
    import tilelang

    outs = None if case.out_idx is None else list(case.out_idx)
    try:
        return tilelang.compile(case.kernel(), out_idx=outs)
    except Exception as error:
        return error


def save(path: Path) -> int:
    """Runs every case on the GPU and writes the outputs."""
    import tilelang
    import torch

    major, minor = torch.cuda.get_device_capability()
    todo = cases()
    with ThreadPoolExecutor(COMPILERS) as pool:
        built = list(pool.map(compiled, todo))
    found = {"release": np.array(tilelang.__version__), "arch": np.array(f"sm_{major}{minor}")}
    for case, kernel in zip(todo, built, strict=True):
        if isinstance(kernel, Exception):
            print(f"{case.name}: {type(kernel).__name__}: {str(kernel).splitlines()[-1][:200]}")
            continue
        for i, data in enumerate(measure(case, kernel)):
            found[f"{case.name}/{i}"] = data
    np.savez_compressed(path, **found)  # type: ignore[arg-type]
    print(f"{path}: {len(found) - 2} outputs of {tilelang.__version__} on {found['arch']}")
    return 0


# -- anywhere -------------------------------------------------------------------------------------


def difference(case: Case, got: Any, data: Any) -> tuple[bool, str]:
    """Whether an output is the GPU's, and how it compares."""
    want = data.view(got.dtype).reshape(got.shape)
    if np.array_equal(got.view(np.uint8), want.view(np.uint8)):
        return True, "equal bits"
    a, b = got.astype("float64"), want.astype("float64")
    worst = float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-30)))
    return worst <= case.bound, f"relative difference {worst:.1e}, bound {case.bound:.0e}"


def compare(path: Path) -> int:
    """Runs every saved case in the interpreter, and prints how it compares."""
    from reducer_compat import simt

    saved = np.load(path)
    if str(saved["release"]) != str(k.RELEASE):
        print(f"{path} is of TileLang {saved['release']}, and {k.RELEASE} is installed")
        return 2
    wrong = 0
    for case in cases():
        names = sorted(n for n in saved.files if n.startswith(f"{case.name}/"))
        if not names:
            print(f"  {case.name}: not run on the GPU")
            continue
        arrays = [a.copy() for a in case.inputs]
        outs = case.out_idx if case.out_idx is None else list(case.out_idx)
        result = simt.execute(case.kernel(), *arrays, out_idx=outs, target=str(saved["arch"]))
        outputs = arrays if case.out_idx is None else result.outputs
        for name, got in zip(names, outputs, strict=True):
            same, text = difference(case, got, saved[name])
            wrong += not same
            print(f"{'  ' if same else '! '}{name}: {text}")
    print(f"{wrong} outputs differ (TileLang {saved['release']}, {saved['arch']})")
    return 1 if wrong else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("action", choices=["save", "compare"])
    parser.add_argument("results", type=Path)
    options = parser.parse_args()
    return (save if options.action == "save" else compare)(options.results)


if __name__ == "__main__":
    sys.exit(main())
