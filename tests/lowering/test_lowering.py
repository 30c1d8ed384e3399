"""What the codemod writes lowers on stock TileLang with its v1 shim switched off.

And where the shim accepts the v1 input, both give the same CUDA. Lowering needs no GPU.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from tests.corpus import Golden, goldens
from tests.lowering.instances import INSTANCES

ARCHES = ("sm_80", "sm_90")
WORKER = Path(__file__).with_name("worker.py")
FIRST_V2 = Version("0.1.14")


def _unavailable() -> str | None:
    """Why kernels cannot be lowered here; None where they can."""
    if importlib.util.find_spec("tilelang") is None:
        return "tilelang is not installed (pip install 'reducer-migrate[compat]')"
    installed = Version(importlib.metadata.version("tilelang"))
    return f"tilelang {installed} has no v2 reducers" if installed < FIRST_V2 else None


pytestmark = pytest.mark.skipif(_unavailable() is not None, reason=_unavailable() or "")


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel to lower: which file, how it is built, for what, with the v1 shim or without."""

    path: Path
    function: str
    arguments: tuple[object, ...]
    arch: str
    shim: bool


def _jobs_of(golden: Golden) -> list[Job]:
    files = {(golden.output_path, False), (golden.path, True)}
    return [
        Job(path, function, arguments, arch, shim)
        for function, arguments in INSTANCES[golden.name]
        for arch in ARCHES
        for path, shim in sorted(files)
    ]


BUILT = tuple(golden for golden in goldens() if golden.name in INSTANCES)


@pytest.fixture(scope="session")
def lowered(tmp_path_factory: pytest.TempPathFactory) -> dict[Job, dict[str, str]]:
    """Every job's CUDA or error, lowered in one process."""
    jobs = [job for golden in BUILT for job in _jobs_of(golden)]
    folder = tmp_path_factory.mktemp("lowering")
    rows = [(str(job.path), job.function, job.arguments, job.arch, job.shim) for job in jobs]
    (folder / "jobs.json").write_text(json.dumps(rows))
    command = [sys.executable, str(WORKER), "jobs.json", "results.json"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-4000:]
    results: list[dict[str, str]] = json.loads((folder / "results.json").read_text())
    return dict(zip(jobs, results, strict=True))


def test_every_instance_names_a_golden() -> None:
    assert INSTANCES.keys() <= {golden.name for golden in goldens()}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("golden", BUILT, ids=lambda golden: golden.name)
def test_output_lowers_without_the_shim(
    golden: Golden, arch: str, lowered: dict[Job, dict[str, str]]
) -> None:
    for function, arguments in INSTANCES[golden.name]:
        result = lowered[Job(golden.output_path, function, arguments, arch, False)]
        assert "error" not in result, f"{function}{arguments}: {result['error']}"
        assert "__global__" in result["source"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Why the CUDA of a golden may differ from the shim's, and the lines that may."""

    reason: str
    lines: re.Pattern[str]


def _difference(reason: str, *lines: str) -> Difference:
    return Difference(reason, re.compile("|".join(f"(?:{line})" for line in lines)))


_LOOP = r"for \(int __finred = 0; __finred < \d+; \+\+__finred\) \{|\}"
_SEED = (
    r"\w+ \w+_seed\[1\];",
    r"\w+\[\w+\] = (max|min)\(\w+\[\w+\], \w+_seed\[0\]\);",
    _LOOP,
)
IDENTITY_SEED = _difference(
    "the shim combines every fill of max and min as a seed, the rewrite drops one that is the "
    "identity",
    r"\w+_seed\[0\] = -?CUDART_INF_F;",
    *_SEED,
)
CLAMP_SEED = _difference(
    "where the op is not statically known the rewrite keeps v1's clear as a seed of 0, also "
    "when the op turns out to be sum",
    r"\w+_seed\[0\] = (-?CUDART_INF_F|0x0p\+0f\S*);",
    r"\w+\[0\] = \(\w+\[0\] \+ \w+_seed\[0\]\);",
    *_SEED,
)
BATCH = _difference(
    "the rewrite drops a batch, which native v2 gets wrong unless it is 1 or the number of outputs",
    r"__syncthreads\(\);",
    r"tl::AllReduce<.*>::run_batch\(.*\);",
    r"\w+\[__finred\] = tl::AllReduce<.*>::run\(.*\);",
    _LOOP,
)
GUARD = _difference(
    "the shim and native v2 do not order two scalar stores in one block alike",
    r"out\[\d\] = \w+\[0\];",
)
DIFFERENCES: dict[str, Difference] = {
    "alloc_spellings": CLAMP_SEED,
    "init_under_match": CLAMP_SEED,
    "nested_ifs_and_elif": CLAMP_SEED,
    "batches": BATCH,
    "default_allocation": GUARD,
    **dict.fromkeys(
        (
            "argument_order",
            "combine_forms",
            "epoch_in_both_arms_of_a_flag",
            "identity_fills",
            "import_under_try",
            "member_imports",
            "shapes",
            "softmax_stats",
            "topk_repeated_min",
        ),
        IDENTITY_SEED,
    ),
}


def _lines(cuda: str) -> list[str]:
    """The lines of the source without the numbers that generated names end in."""
    cuda = re.sub(r"\b(workspace|\w+_result|__finred)(_\d+)+\b", r"\1", cuda)
    return [line.strip() for line in cuda.split("\n")]


def _pairs(
    golden: Golden, lowered: dict[Job, dict[str, str]]
) -> list[tuple[dict[str, str], dict[str, str]]]:
    """The results of (v1 through the shim, our output without it), where the shim accepts v1."""
    found = []
    for function, arguments in INSTANCES[golden.name]:
        for arch in ARCHES:
            legacy = lowered[Job(golden.path, function, arguments, arch, True)]
            ours = lowered[Job(golden.output_path, function, arguments, arch, False)]
            if "source" in legacy:
                found.append((legacy, ours))
    return found


REWRITTEN = tuple(golden for golden in BUILT if golden.output != golden.source)


@pytest.mark.parametrize("golden", REWRITTEN, ids=lambda golden: golden.name)
def test_cuda_equals_what_the_shim_gives(golden: Golden, lowered: dict[Job, Any]) -> None:
    sources = [
        (_lines(legacy["source"]), _lines(ours["source"]))
        for legacy, ours in _pairs(golden, lowered)
    ]
    expected = DIFFERENCES.get(golden.name)
    if expected is None:
        for theirs, mine in sources:
            assert mine == theirs
        return
    assert any(theirs != mine for theirs, mine in sources), f"no longer so: {expected.reason}"
    for theirs, mine in sources:
        odd = (Counter(theirs) - Counter(mine)) + (Counter(mine) - Counter(theirs))
        assert {line for line in odd if not expected.lines.fullmatch(line)} == set()


def test_the_comparison_covers_most_goldens(lowered: dict[Job, Any]) -> None:
    compared = [golden.name for golden in REWRITTEN if _pairs(golden, lowered)]
    assert len(compared) >= 35
