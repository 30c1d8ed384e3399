"""Compile kernels of the benchmark into TileLang's cache on disk, in a process of its own.

Started by `benchmarks/kernels.py`, several at a time. Reads one JSON list of [case, variant] and
writes a JSON line for each, as soon as it is made:

    {"case": c, "variant": v, "failed": why there is none, "resources": {...}}
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any

from kernel_bench.cases import Case, all_cases

#: Which module holds the kernels of a variant; `torch` is the reference as it stands.
MODULES = {"ours": "shipped", "native": "shipped", "stock": "legacy", "per_tile": "per_tile"}


def answers() -> Any:
    """The file that answers go to, before TileLang can print to it."""
    stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if os.environ.get("REDUCER_COMPAT") != "off":
        importlib.import_module("reducer_compat")
    return stream


def first_line(error: Exception) -> str:
    """The kind of an error and the last line of its text."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1].strip()[:200]}"


def exists(case: Case, variant: str) -> bool:
    """Whether a variant has a kernel for a case."""
    return hasattr(_module(variant), case.kernel)


def compiled(case: Case, variant: str) -> Any:
    """The kernel of a case, from the cache where it is there."""
    import tilelang

    func = getattr(_module(variant), case.kernel)(*case.sizes)
    return tilelang.compile(func, pass_configs=case.pass_configs)


def _module(variant: str) -> Any:
    return importlib.import_module(f"kernel_bench.{MODULES[variant]}")


class Binary:
    """The binary that the CUDA compiler made last."""

    def __init__(self) -> None:
        self._last: bytes | None = None

    def install(self) -> None:
        from tilelang.contrib import nvcc

        compile_cuda = nvcc.compile_cuda

        def keeping(*args: Any, **kwargs: Any) -> Any:
            self._last = None
            binary = compile_cuda(*args, **kwargs)
            self._last = bytes(binary)
            return binary

        nvcc.compile_cuda = keeping

    def resources(self) -> dict[str, int]:
        """Registers, stack, static shared and local bytes."""
        binary, self._last = self._last, None
        if binary is None:
            return {}
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(binary)
            file.flush()
            command = ["cuobjdump", "--dump-resource-usage", file.name]
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = re.findall(r"\b(REG|STACK|SHARED|LOCAL):(\d+)", text)
        return {name.lower(): int(value) for name, value in found}


def resources(kernel: Any, binary: Binary) -> dict[str, int]:
    """What the compiler says of a kernel, and its bytes of dynamic shared memory."""
    module = getattr(getattr(kernel, "artifact", None), "device_mod", None)
    text = "" if module is None else str(module)
    dynamic = re.findall(r'dyn_shared_memory_buf": (?:T\.int64\()?(\d+)', text)
    return {**binary.resources(), "dynamic": max(map(int, dynamic), default=0)}


def main() -> None:
    stream = answers()
    cases = {case.name: case for case in all_cases()}
    binary = Binary()
    binary.install()
    for name, variant in json.load(sys.stdin):
        answer = {"case": name, "variant": variant, "failed": "", "resources": {}}
        if not exists(cases[name], variant):
            continue
        try:
            answer["resources"] = resources(compiled(cases[name], variant), binary)
        except Exception as error:
            answer["failed"] = first_line(error)
        print(json.dumps(answer), file=stream, flush=True)


if __name__ == "__main__":
    main()
