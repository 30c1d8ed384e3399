"""One TileLang in one process: compiles the kernels, checks them, and times one when asked.

Started by `benchmarks/kernels.py`. Reads a JSON command a line and answers each with a JSON line:

    {"do": "compile", "cases": [...], ...}        {"kernels": [what became of each]}
    {"do": "load", "case": c, "variant": v}       {"error": relative error, "launches": n, ...}
    {"do": "time"}                                {"us": {variant: microseconds a launch}}
    {"do": "drop"}                                {}

An answer with `failed` as text says why there is none; after one with `broken` the CUDA context
is lost and the process ends.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import torch
from kernel_bench.cases import Case, all_cases

#: Which module holds the kernels of a variant; `torch` is the reference as it stands.
MODULES = {"ours": "shipped", "native": "shipped", "stock": "legacy", "per_tile": "per_tile"}
#: Microseconds that one measurement should take at least.
SAMPLE_US = 800.0
#: Launches in one CUDA graph, at most.
MOST_LAUNCHES = 200

Answer = dict[str, Any]


@dataclass
class Compiled:
    """A kernel, or why there is none, and what the compiler says of it."""

    kernel: Any = None
    failed: str = ""
    resources: dict[str, int] = field(default_factory=dict)


@dataclass
class Loaded:
    """A launch that can be repeated, and how many launches one repetition holds."""

    repeat: Callable[[], None]
    launches: int


class Binaries:
    """The binary that the CUDA compiler made last, for each thread."""

    def __init__(self) -> None:
        self._last = threading.local()

    def install(self) -> None:
        from tilelang.contrib import nvcc

        compile_cuda = nvcc.compile_cuda

        def keeping(*args: Any, **kwargs: Any) -> Any:
            binary = compile_cuda(*args, **kwargs)
            self._last.binary = bytes(binary)
            return binary

        nvcc.compile_cuda = keeping

    def resources(self) -> dict[str, int]:
        """Registers, stack, static shared and local bytes of this thread's last binary."""
        binary = getattr(self._last, "binary", None)
        self._last.binary = None
        if binary is None:
            return {}
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(binary)
            file.flush()
            command = ["cuobjdump", "--dump-resource-usage", file.name]
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = re.findall(r"\b(REG|STACK|SHARED|LOCAL):(\d+)", text)
        return {name.lower(): int(value) for name, value in found}


class Bench:
    """The kernels of this process, and the variants of one that are loaded."""

    def __init__(self) -> None:
        self._cases = {case.name: case for case in all_cases()}
        self._kernels: dict[tuple[str, str], Compiled] = {}
        self._binaries = Binaries()
        self._binaries.install()
        self._loaded: dict[str, Loaded] = {}
        self._inputs: tuple[str, list[torch.Tensor]] = ("", [])
        self._exact: tuple[torch.Tensor, ...] = ()

    def compile(self, cases: list[str], variants: list[str], jobs: int, seconds: float) -> Answer:
        """Compile all of `cases` in all of `variants` that have them, as far as time allows."""
        wanted = [
            (name, variant)
            for name in cases
            for variant in variants
            if hasattr(_module(variant), self._cases[name].kernel)
        ]
        pool = ThreadPoolExecutor(jobs)
        made = {pair: pool.submit(self._compile, self._cases[pair[0]], pair[1]) for pair in wanted}
        finished = wait(made.values(), timeout=seconds).done
        pool.shutdown(wait=False, cancel_futures=True)
        late = Compiled(failed=f"was not compiled in {seconds:.0f} s")
        self._kernels |= {
            pair: one.result() if one in finished else late for pair, one in made.items()
        }
        return {
            "kernels": [
                {"case": c, "variant": v, "failed": k.failed, "resources": k.resources}
                for (c, v), k in self._kernels.items()
            ]
        }

    def _compile(self, case: Case, variant: str) -> Compiled:
        import tilelang

        try:
            func = getattr(_module(variant), case.kernel)(*case.sizes)
            kernel = tilelang.compile(func, pass_configs=case.pass_configs)
        except Exception as error:
            return Compiled(failed=_first_line(error))
        resources = self._binaries.resources()
        dynamic = re.findall(r'dyn_shared_memory_buf": (?:T\.int64\()?(\d+)', _device_text(kernel))
        resources["dynamic"] = max(map(int, dynamic), default=0)
        return Compiled(kernel, resources=resources)

    def load(self, case: str, variant: str) -> Answer:
        """Check a kernel and make it ready to be timed."""
        found = self._kernels.get((case, variant))
        if variant != "torch" and (found is None or found.failed):
            return {"failed": found.failed if found else "there is no such kernel"}
        this = self._cases[case]
        if self._inputs[0] != case:
            self._inputs = (case, case_inputs(this))
        inputs = self._inputs[1]
        if found is None:
            self._loaded[variant] = _repeatable(lambda: this.reference(*inputs))
            return {"error": 0.0, "right": True}
        if not self._exact:
            self._exact = tuple(this.reference(*(tensor.double() for tensor in inputs)))
        outputs = [torch.empty(s, dtype=getattr(torch, d), device="cuda") for s, d in this.outputs]
        for output in outputs:
            output.fill_(float("nan"))
        found.kernel(*inputs, *outputs)
        torch.cuda.synchronize()
        error = max(map(relative_error, outputs, self._exact))
        self._loaded[variant] = _repeatable(lambda: found.kernel(*inputs, *outputs))
        return {"error": error, "right": error <= this.tolerance}

    def time(self) -> Answer:
        """Microseconds of one launch of each loaded variant."""
        return {"us": {variant: _timed(loaded) for variant, loaded in self._loaded.items()}}

    def drop(self) -> Answer:
        """Let go of what is loaded; the memory is kept for the next kernel."""
        self._loaded, self._inputs, self._exact = {}, ("", []), ()
        return {}

    def answer(self, command: Answer) -> Answer:
        """What a command asks for."""
        arguments = {name: value for name, value in command.items() if name != "do"}
        actions = {a.__name__: a for a in (self.compile, self.load, self.time, self.drop)}
        try:
            return actions[command["do"]](**arguments)
        except Exception as error:
            return {"failed": _first_line(error), "broken": _is_broken()}


def case_inputs(case: Case) -> list[torch.Tensor]:
    """Random inputs, the same in every process."""
    generator = torch.Generator("cuda").manual_seed(sum(map(ord, case.name)))
    return [
        torch.randn(shape, generator=generator, device="cuda").to(getattr(torch, dtype))
        for shape, dtype in case.inputs
    ]


def relative_error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest difference over the largest magnitude; infinite where something is NaN."""
    difference = (got.double() - wanted.reshape(got.shape)).abs().max().item()
    scale = max(wanted.abs().max().item(), 1e-30)
    return float("inf") if difference != difference else difference / scale


def _timed(loaded: Loaded) -> float:
    """Microseconds of one launch, after one repetition that is not counted."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    loaded.repeat()
    start.record()
    loaded.repeat()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end) * 1000 / loaded.launches)


def _repeatable(run: Callable[[], Any]) -> Loaded:
    """`run` often enough for a measurement, as a CUDA graph where it can be captured."""
    for _ in range(3):
        run()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    end.synchronize()
    once = max(start.elapsed_time(end) * 1000, 1.0)
    launches = max(1, min(MOST_LAUNCHES, round(SAMPLE_US / once)))

    def several() -> None:
        for _ in range(launches):
            run()

    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            several()
    except Exception:
        torch.cuda.synchronize()
        return Loaded(several, launches)
    return Loaded(graph.replay, launches)


def _device_text(kernel: Any) -> str:
    module = getattr(getattr(kernel, "artifact", None), "device_mod", None)
    return "" if module is None else str(module)


def _module(variant: str) -> Any:
    return importlib.import_module(f"kernel_bench.{MODULES[variant]}")


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1].strip()[:200]}"


def _is_broken() -> bool:
    try:
        torch.cuda.synchronize()
    except Exception:
        return True
    return False


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what TileLang prints is no answer
    if os.environ.get("REDUCER_COMPAT") != "off":
        importlib.import_module("reducer_compat")
    bench = Bench()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        answer = bench.answer(json.loads(line))
        print(json.dumps(answer), file=answers, flush=True)
        if answer.get("broken"):
            break
    os._exit(0)  # a kernel that is still compiling would be waited for


if __name__ == "__main__":
    main()
