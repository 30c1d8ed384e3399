"""One TileLang in one process: checks the kernels that were compiled, and times one when asked.

Started by `benchmarks/kernels.py`. Reads a JSON command a line and answers each with a JSON line:

    {"do": "load", "case": c, "variant": v}       {"error": relative error, "right": bool}
    {"do": "time"}                                {"us": {variant: microseconds a launch},
                                                   "problems": {variant: why there is no time}}
    {"do": "drop"}                                {}

An answer with `failed` as text says why there is none; after one with `broken` the CUDA context
is lost and the process ends.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from kernel_bench.build import answers, compiled, first_line
from kernel_bench.cases import Case, all_cases

#: Microseconds that one measurement should take at least.
SAMPLE_US = 800.0
#: Launches in one CUDA graph, at most.
MOST_LAUNCHES = 200

Answer = dict[str, Any]


@dataclass
class Loaded:
    """A launch that can be repeated, and how many launches one repetition holds."""

    repeat: Callable[[], None]
    launches: int


class Bench:
    """The kernels of this process, and the variants of one that are loaded."""

    def __init__(self) -> None:
        self._cases = {case.name: case for case in all_cases()}
        self._loaded: dict[str, Loaded] = {}
        self._inputs: tuple[str, list[torch.Tensor]] = ("", [])
        self._exact: tuple[torch.Tensor, ...] = ()

    def load(self, case: str, variant: str) -> Answer:
        """Check a kernel and make it ready to be timed."""
        this = self._cases[case]
        kernel = None if variant == "torch" else compiled(this, variant)
        if self._inputs[0] != case:
            self._inputs = (case, case_inputs(this))
        inputs = self._inputs[1]
        if kernel is None:
            self._loaded[variant] = repeatable(lambda: this.reference(*inputs))
            return {"error": 0.0, "right": True}
        if not self._exact:
            self._exact = tuple(this.reference(*(tensor.double() for tensor in inputs)))
        outputs = [torch.empty(s, dtype=getattr(torch, d), device="cuda") for s, d in this.outputs]
        for output in outputs:
            output.fill_(float("nan"))
        kernel(*inputs, *outputs)
        torch.cuda.synchronize()
        error = max(map(relative_error, outputs, self._exact))
        self._loaded[variant] = repeatable(lambda: kernel(*inputs, *outputs))
        return {"error": error, "right": error <= this.tolerance}

    def time(self) -> Answer:
        """Microseconds of one launch of each loaded variant; one that fails is let go of."""
        times, problems = {}, {}
        for variant, loaded in list(self._loaded.items()):
            try:
                times[variant] = timed(loaded)
            except Exception as error:
                if _is_broken():
                    raise
                problems[variant] = first_line(error)
                del self._loaded[variant]
        return {"us": times, "problems": problems}

    def drop(self) -> Answer:
        """Let go of what is loaded; the memory is kept for the next kernel."""
        self._loaded, self._inputs, self._exact = {}, ("", []), ()
        return {}

    def answer(self, command: Answer) -> Answer:
        """What a command asks for."""
        arguments = {name: value for name, value in command.items() if name != "do"}
        actions = {a.__name__: a for a in (self.load, self.time, self.drop)}
        try:
            return actions[command["do"]](**arguments)
        except Exception as error:
            return {"failed": first_line(error), "broken": _is_broken()}


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


def timed(loaded: Loaded) -> float:
    """Microseconds of one launch, after one repetition that is not counted."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    loaded.repeat()
    start.record()
    loaded.repeat()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end) * 1000 / loaded.launches)


def repeatable(run: Callable[[], Any]) -> Loaded:
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


def _is_broken() -> bool:
    try:
        torch.cuda.synchronize()
    except Exception:
        return True
    return False


def main() -> None:
    stream = answers()
    bench = Bench()
    print(json.dumps({"ready": True}), file=stream, flush=True)
    for line in sys.stdin:
        answer = bench.answer(json.loads(line))
        print(json.dumps(answer), file=stream, flush=True)
        if answer.get("broken"):
            break
    os._exit(0)  # CUDA graphs and modules need no taking apart


if __name__ == "__main__":
    main()
