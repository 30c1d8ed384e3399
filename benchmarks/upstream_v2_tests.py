"""Run TileLang's own tests of v2 reducers on the installed release, with reducer_compat.

    python benchmarks/upstream_v2_tests.py CHECKOUT [pytest arguments]

CHECKOUT is a clone of tile-ai/tilelang that has the tests (0.1.14 or newer). They are written for
a GPU and for TileLang's own lowering. Without a GPU kernels run in the interpreter, lowered for
sm_90 (0.1.8: sm_80). Tests that assert TileLang's generated text or its words for an error are
expected to fail (`NATIVE`, with the reason); they run a second time without these assertions,
and must pass then. Exits with 1 on any other failure.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "compat"), str(ROOT / "rules")]

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import tilelang  # noqa: E402
import torch  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

import reducer_compat  # noqa: E402
from reducer_compat import simt  # noqa: E402
from reducer_compat.adapter import adapter  # noqa: E402

FILE = "testing/python/language/test_tilelang_language_reducer_v2.py"
#: The interpreter does not know the mbarriers of 0.1.8.
ARCH = "sm_90" if str(tilelang.__version__) != "0.1.8" else "sm_80"
#: The code of any error of ours.
OUR_CODES = r"\bR[MC]\d{3}\b"
#: Why a test that asserts something of TileLang's own lowering fails with ours.
NATIVE = {
    "test_forced_baseline_codegen_uses_full_width_allreduce": "the width of native's AllReduce: "
    "ours shuffles within warps and combines the warps in shared memory",
    "test_narrow_plan_scalar_sum_uses_projected_allreduce": "the width of native's AllReduce",
    "test_narrow_plan_local_complete_no_collective": "no AllReduce: ours adds up a group's threads",
    "test_narrow_plan_local_complete_inner_serial": "no AllReduce: ours adds up a group's threads",
    "test_seed_with_narrow_plan": "the width of native's AllReduce",
    "test_seed_with_local_complete": "no AllReduce: ours adds up a group's threads",
    "test_packed_accumulation_fp16_parallel_reduction": "the name of native's packed partials",
    "test_packed_accumulation_fp16_inner_serial": "the name of native's packed partials",
    "test_packed_accumulation_bf16_max": "the name of native's packed partials",
    "test_wide_plan_finalize_publication_static_indices_2d": "native's guard of the global store",
    "test_wide_plan_finalize_publication_static_indices_1d": "native's guard of the global store",
    "test_wide_plan_finalize_publication_legacy_entry": "native's guard of the global store",
    "test_wide_plan_finalize_staged_chain_override": "native's guard of the global store",
    "test_bitwise_reducer_rejects_float_dtype": "an AssertionError: ours is a ReducerError",
    "test_reject_init_value_dtype_mismatch": "native's words: ours is RM216",
    "test_reject_update_before_init": "native's words: ours is RM206",
    "test_reject_ordinary_store": "native's words: ours is RM222",
    "test_reject_read_before_finalize": "native's words: ours is RM204",
    "test_reject_double_init": "native's words: ours is RM208",
    "test_reject_finalize_in_different_scope": "native's words: ours is RM210",
    "test_reject_finalize_in_extra_loop": "native's words: ours is RM210",
}


class OnCpu(TorchFunctionMode):
    """Tensors that a test wants on the GPU are made on the CPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        given = dict(kwargs or {})
        if str(given.get("device", "")).startswith("cuda"):
            given["device"] = "cpu"
        return func(*args, **given)


class Interpreted:
    """What `tilelang.compile` returns here: a kernel that runs on CPU tensors."""

    def __init__(self, func: Any, out_idx: Any = None, pass_configs: Any = None) -> None:
        self._func, self._out_idx, self._configs = func, out_idx, pass_configs
        self._lowered = simt.lower(func, ARCH, pass_configs)

    def __call__(self, *tensors: torch.Tensor) -> Any:
        arrays = [to_numpy(tensor) for tensor in tensors]
        result = simt.execute_lowered(self._lowered, *arrays, out_idx=self._out_idx)
        if not result.report.ok:
            raise simt.SimtError(str(result.report), result.report)
        outputs = [to_torch(array) for array in result.outputs]
        return outputs[0] if isinstance(self._out_idx, int) else outputs

    def get_kernel_source(self) -> str:
        target = adapter().target("cuda", ARCH)
        configs = {str(getattr(k, "value", k)): v for k, v in (self._configs or {}).items()}
        with tilelang.tvm.transform.PassContext(opt_level=3, config=configs), target:
            return str(tilelang.lower(self._func, target=target).kernel_source)


def to_numpy(tensor: torch.Tensor) -> Any:
    """An array; bfloat16, which numpy lacks, through ml_dtypes."""
    if tensor.dtype is torch.bfloat16:
        import ml_dtypes

        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.numpy()


def to_torch(array: Any) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array)


class Outcomes:
    """A pytest plugin that keeps the outcome of every test and the last line of its failure."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}
        self.passed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            text = str(report.longrepr).strip().splitlines()
            self.failed[name] = next((t for t in text if t.startswith("E ")), text[-1])[1:].strip()
        elif report.when == "call" and report.passed:
            self.passed.append(name)


class _OursForNatives(ast.NodeTransformer):
    """Takes out the assertions on generated text, and expects our codes for TileLang's words."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return ast.Pass() if "source" in names else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) == "_compile_expect_error":
            node.args[1] = ast.Constant(OUR_CODES)
        elif ast.unparse(node.func) == "pytest.raises":
            node.args[0] = ast.Name("Exception")
        return self.generic_visit(node)


def without_native_text(source: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_OursForNatives().visit(ast.parse(source))))


def run(path: Path, arguments: Sequence[str]) -> Outcomes:
    outcomes = Outcomes()
    options = ["-p", "no:cacheprovider", "-q", "--no-header", "--tb=short", "-c", "/dev/null"]
    pytest.main([str(path), "--rootdir", str(path.parent), *options, *arguments], [outcomes])
    return outcomes


def judge(path: Path, arguments: Sequence[str]) -> int:
    """Run the tests as they are, then those that want native's text without it; print a table."""
    first = run(path, arguments)
    natives = {name for name in first.failed if name.split("[")[0] in NATIVE}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "test_without_native_text.py"
        copy.write_text(without_native_text(path.read_text("utf-8")), "utf-8")
        second = run(copy, arguments)
    for name in sorted(natives):
        said = "passes without it" if name in second.passed else f"FAILS: {second.failed.get(name)}"
        print(f"{name}: asserts {NATIVE[name.split('[')[0]]}; {said}")
    broken = {name: text for name, text in first.failed.items() if name not in natives}
    broken |= second.failed
    for name, text in sorted(broken.items()):
        print(f"FAILED {name}: {text[:300]}")
    print(
        f"TileLang {adapter().release}, mode {reducer_compat.status().mode}: "
        f"{len(first.passed)} pass as they are, {len(natives)} assert native's text or words, "
        f"{len(second.passed)} pass without these assertions, {len(broken)} broken"
    )
    return 1 if broken or not (first.passed or second.passed) else 0


def main(arguments: list[str]) -> int:
    if not arguments or not (Path(arguments[0]) / FILE).is_file():
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0]) / FILE
    if torch.cuda.is_available():
        return judge(path, arguments[1:])
    tilelang.compile = Interpreted
    with OnCpu():
        return judge(path, arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
