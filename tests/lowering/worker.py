"""Lowers kernels in a process of its own: TileLang is imported once and nothing leaks into it.

    python worker.py JOBS RESULTS

JOBS is a JSON list of `[file, function, arguments, arch, shim]`; RESULTS receives, in the same
order, `{"source": CUDA}` or `{"error": text}`. With `shim` false TileLang's canonicalization of
v1 reducers does nothing, so that only v2 lowers. Needs no GPU.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import tilelang
import tilelang.language
import tilelang.transform
import torch
from tilelang import tvm


@functools.cache
def _load(path: str) -> ModuleType:
    """The module in a file. It is executed from its file: the tracer reads its source."""
    name = "golden_" + Path(path).name.replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _argument(given: Any) -> Any:
    if given == "T":
        return tilelang.language
    if isinstance(given, list) and given and given[0] == "tensor":
        return torch.empty(given[2:], dtype=getattr(torch, given[1]))
    return given


def _build(path: str, function: str, given: list[Any]) -> Any:
    """The PrimFunc that `function(*given)` gives; the function may be one, or a jit kernel."""
    arguments = [_argument(value) for value in given]
    kernel = getattr(_load(path), function)
    if callable(kernel) and not hasattr(kernel, "get_tir") and not hasattr(kernel, "body"):
        kernel = kernel(*arguments)
    return kernel.get_tir(*arguments) if hasattr(kernel, "get_tir") else kernel


@contextmanager
def _shim(active: bool) -> Iterator[None]:
    original = tilelang.transform.CanonicalizeLegacyReducer
    if not active:
        tilelang.transform.CanonicalizeLegacyReducer = lambda: lambda module: module
    try:
        yield
    finally:
        tilelang.transform.CanonicalizeLegacyReducer = original


def _lower(path: str, function: str, given: list[Any], arch: str, shim: bool) -> dict[str, str]:
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    try:
        with _shim(shim), target:
            lowered = tilelang.lower(_build(path, function, given), target=target)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"source": "".join(lowered.kernel_source)}


def main(jobs: str, results: str) -> None:
    warnings.simplefilter("ignore")
    done = [_lower(*job) for job in json.loads(Path(jobs).read_text())]
    Path(results).write_text(json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
