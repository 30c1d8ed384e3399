"""A kernel and what it should give, as a file that runs alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.fuzz.expression import is_float
from tests.fuzz.kernel import Kernel
from tests.fuzz.reference import outputs
from tests.fuzz.verdict import Verdict

#: How a lane is compiled: the environment, and what comes before the kernel is built.
_OURS = 'os.environ["REDUCER_COMPAT"] = "canonical"'
_ENVIRONMENT = {
    "native": ('os.environ["REDUCER_COMPAT"] = "off"',),
    "auto": ('os.environ["REDUCER_COMPAT"] = "auto"',),
    "wide": (_OURS, 'os.environ["REDUCER_COMPAT_PLAN"] = "wide"'),
}


def script(kernel: Kernel, text: str, lane: str, verdict: Verdict, release: str) -> str:
    """The file. It ends with exit code 1 where the kernel still differs."""
    return "\n".join(_lines(kernel, text, lane, verdict, release)) + "\n"


def _lines(kernel: Kernel, text: str, lane: str, verdict: Verdict, release: str) -> Iterator[str]:
    detail = verdict.detail.replace("\\", "/").replace('"""', "'''")
    where = f"lane {lane}, TileLang {release}"
    yield f'"""Kernel {kernel.name} of tests.fuzz, {where}: {verdict.status}.'
    yield ""
    yield detail
    yield '"""'
    yield ""
    yield "import os"
    yield "import sys"
    yield ""
    yield from _ENVIRONMENT.get(lane, (_OURS,))
    yield 'os.environ["TILELANG_DISABLE_CACHE"] = "1"'
    yield ""
    yield "import numpy as np"
    yield text.split("\n")[0]
    yield ""
    yield "from reducer_compat import simt"
    yield from _shim(lane)
    yield from text.rstrip("\n").split("\n")[1:]
    yield ""
    yield ""
    yield from _numbers(kernel)
    yield ""
    yield from _comparison(kernel)


def _shim(lane: str) -> Iterator[str]:
    if lane == "native":
        yield ""
        yield "import tilelang.transform"
        yield ""
        yield "tilelang.transform.CanonicalizeLegacyReducer = lambda: lambda module: module"


def _numbers(kernel: Kernel) -> Iterator[str]:
    dtypes = {array.dtype for array in kernel.arrays} | {output.dtype for output in kernel.outputs}
    if "bfloat16" in dtypes:
        yield "import ml_dtypes  # noqa: E402, F401: numpy learns bfloat16"
        yield ""
    yield "inf = np.inf"
    yield "inputs = ["
    for array in kernel.arrays:
        drawn = f"np.random.default_rng({array.seed}).choice({array.values}, {array.shape})"
        yield f'    {drawn}.astype("{array.dtype}"),  # {array.name}'
    yield "]"
    yield "wanted = ["
    for output, content in zip(kernel.outputs, outputs(kernel), strict=True):
        working = "float64" if is_float(output.dtype) else "int64"
        yield f'    np.array({_literal(content)}, "{working}"),  # {output.name}'
    yield "]"


def _literal(content: np.ndarray) -> str:
    return str(content.tolist())


def _comparison(kernel: Kernel) -> Iterator[str]:
    first = len(kernel.arrays)
    places = list(range(first, first + len(kernel.outputs)))
    yield f'result = simt.execute(build(), *inputs, out_idx={places}, target="{kernel.arch}")'
    yield "print(result.report)"
    yield "differ = not result.report.ok"
    yield "for got, want in zip(result.outputs, wanted, strict=True):"
    yield "    same = np.array_equal(got.astype(want.dtype), want)"
    yield "    differ = differ or not same"
    yield '    print("right" if same else f"wrong: {got.tolist()}, not {want.tolist()}")'
    yield "sys.exit(1 if differ else 0)"
