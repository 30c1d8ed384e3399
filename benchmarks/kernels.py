"""Time the benchmark's kernels on several TileLang releases, ours against everybody else's.

    python benchmarks/kernels.py [--releases DIR] [--only TEXT] [--quick] [--pairs 20] [--json FILE]

Needs a CUDA GPU, torch and nvcc. DIR holds one folder a release, as `python -m tests.matrix`
makes them and reducer_migrate/verify/releases.py says. Without DIR the installed TileLang is
measured.

Exits with 1 where a kernel of ours is wrong, fails, or was not timed.

All cores compile first. Then each release runs in two processes, one with the runtime and one
without, and the processes are asked in turns, forwards and backwards: a pair is two measurements
next to each other. Kernels are checked against float64 first. Clocks are left alone.

    /native    v2 as TileLang 0.1.14 or newer lowers the same source by itself
    /stock     the v1 kernel as the same release lowers it by itself (! where its result is wrong)
    /per_tile  `T.reduce_*` once a tile, on the same release
    /torch     the same in torch
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OWN = [str(HERE), *(str(HERE.parent / name) for name in ("", "compat", "rules"))]
sys.path[:0] = OWN

from kernel_bench import table  # noqa: E402
from kernel_bench.cases import Case, all_cases  # noqa: E402

from reducer_migrate.verify import releases  # noqa: E402

FIRST_NATIVE = (0, 1, 14)
#: Kernels of `--quick`: one of each kind.
QUICK = ("16x128_float16", "row_sum_global_8x256", "softmax", "rmsnorm_backward_nows", "block_sum")
#: Seconds that a process may take to begin, and for any other answer: a kernel may never end.
START_SECONDS = 120
PATIENCE = 30


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3])


@dataclass
class Process:
    """A worker: the release it runs and the variants of kernels that it has."""

    release: str
    variants: tuple[str, ...]
    environment: dict[str, str]
    log: Path | None = None
    process: Any = None
    starts: int = 0
    answers: queue.Queue[str] = field(default_factory=queue.Queue)
    kernels: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def start(self) -> None:
        self.answers = queue.Queue()
        self.starts += 1
        self.process = self.launch("kernel_bench.worker")
        threading.Thread(target=self._read, args=(self.process, self.answers), daemon=True).start()

    def launch(self, module: str) -> Any:
        """A process of this release that runs a module."""
        log = self.log.open("ab") if self.log else subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-m", module],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=HERE,
        )

    @staticmethod
    def _read(process: Any, answers: queue.Queue[str]) -> None:
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def ready(self) -> bool:
        return bool(self._answer(START_SECONDS).get("ready"))

    def ask(self, **command: Any) -> dict[str, Any]:
        """The answer to a command; `failed` where the process died or is silent.

        After a `broken` answer the process is a new one, with nothing loaded.
        """
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            answer = self._answer(PATIENCE)
        except OSError:
            answer = _ended("the process has ended")
        if answer.get("broken"):
            self.restart()
        return answer

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            return _ended(f"no answer in {seconds:.0f} s")
        return json.loads(line) if line else _ended("the process has ended")

    def restart(self) -> None:
        """Begin again after a kernel took the CUDA context down."""
        self.stop()
        self.start()
        self.ready()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _ended(why: str) -> dict[str, Any]:
    return {"failed": why, "broken": True}


def processes(
    folder: Path | None, cache: Path, logs: Path | None, wanted: Sequence[str]
) -> list[Process]:
    """Two processes a release, without the runtime and with it, as far as they are wanted.

    Each of `wanted` is a variant, or a variant of one release: ``ours@0.1.13``.
    """
    present = _releases(folder)
    found = []
    for index, (release, path) in enumerate(present):
        is_native = number(release) >= FIRST_NATIVE
        alone = ("native" if is_native else "stock", "per_tile")
        torch_too = ("torch",) if index == len(present) - 1 else ()
        for mode, variants in (
            ("off", (*alone, *torch_too)),
            ("canonical" if is_native else "auto", ("ours",)),
        ):
            environment = {
                **_paths(path),
                "REDUCER_COMPAT": mode,
                "TILELANG_CACHE_DIR": str(cache / f"{release}-{mode}"),
            }
            named = tuple(v for v in variants if v in wanted or f"{v}@{release}" in wanted)
            if not named:
                continue
            log = logs / f"{release}-{mode}.log" if logs else None
            found.append(Process(release, named, environment, log))
    return found


def _releases(folder: Path | None) -> list[tuple[str, Path | None]]:
    if folder is None:
        from importlib.metadata import version

        return [(version("tilelang").split("+")[0], None)]
    named = [path for path in folder.iterdir() if (path / "tilelang").is_dir()]
    return [(path.name, path) for path in sorted(named, key=lambda path: number(path.name))]


def _paths(path: Path | None) -> dict[str, str]:
    """Where a release finds its modules and libraries."""
    environment = releases.environment(path)
    own = [environment.get("PYTHONPATH"), *OWN]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, own))}


@dataclass
class Entry:
    """One variant of one kernel on one release, and its times."""

    process: Process
    variant: str
    #: The start of the process after which it was loaded; 0 where it is not.
    loaded: int = 0
    samples: list[float] = field(default_factory=list)
    error: float = 0.0
    right: bool = True
    problem: str = ""


def measure(case: Case, workers: Sequence[Process], pairs: int) -> list[Entry]:
    """Every variant of a kernel that there is, timed in turns."""
    entries = [
        Entry(worker, variant)
        for worker in workers
        for variant in worker.variants
        if variant == "torch" or (case.name, variant) in worker.kernels
    ]
    for entry in entries:
        _load(case, entry)
    for entry in entries:
        if 0 < entry.loaded < entry.process.starts:  # another kernel took the process down
            _load(case, entry)
    loaded = [entry for entry in entries if entry.loaded]
    busy = [worker for worker in workers if any(entry.process is worker for entry in loaded)]
    for turn in range(pairs):
        for worker in busy if turn % 2 == 0 else reversed(busy):
            answer = worker.ask(do="time")
            times, problems = answer.get("us", {}), answer.get("problems", {})
            for entry in loaded:
                if entry.process is worker:
                    entry.samples.append(times.get(entry.variant, math.nan))
                    said = problems.get(entry.variant, answer.get("failed", ""))
                    entry.problem = entry.problem or said
    for worker in workers:
        worker.ask(do="drop")
    return entries


def _load(case: Case, entry: Entry) -> None:
    entry.loaded = 0
    made = entry.process.kernels.get((case.name, entry.variant), {})
    answer = made
    if not made.get("failed"):
        answer = entry.process.ask(do="load", case=case.name, variant=entry.variant)
    if answer.get("failed"):
        entry.problem = answer["failed"]
        return
    entry.loaded = entry.process.starts
    entry.error, entry.right = answer["error"], answer["right"]


def rows(case: Case, entries: Sequence[Entry]) -> list[table.Row]:
    """A row for each release."""
    named = dict.fromkeys(e.process.release for e in entries if e.variant == "ours")
    return [_row(case, release, entries) for release in named]


def _row(case: Case, release: str, entries: Sequence[Entry]) -> table.Row:
    ours = next(e for e in entries if (e.variant, e.process.release) == ("ours", release))
    chosen = {}
    for entry in entries:
        mine = entry.process.release == release
        if entry.variant in ("native", "torch") or (entry.variant != "ours" and mine):
            chosen[entry.variant] = entry
    us = None
    if len(ours.samples) > 1:
        us = tuple(statistics.quantiles(ours.samples, n=4))
    ratios = {v: table.ratio(ours.samples, entry.samples) for v, entry in chosen.items()}
    everything = {"ours": ours, **chosen}
    return table.Row(
        case.name,
        release,
        us,
        case.bytes / us[1] / 1e6 if us else None,
        {variant: found for variant, found in ratios.items() if found is not None},
        {variant: e.error for variant, e in everything.items() if not e.right},
        {variant: e.problem for variant, e in everything.items() if e.problem},
        {
            variant: e.process.kernels.get((case.name, variant), {}).get("resources", {})
            for variant, e in everything.items()
        },
    )


def compile_all(workers: Sequence[Process], cases: Sequence[Case], seconds: float) -> None:
    """Compile every kernel into the caches of the processes, with as many compilers as cores.

    What is not there after `seconds` is given up.
    """
    wanted = {
        id(worker): [[c.name, v] for c in cases for v in worker.variants if v != "torch"]
        for worker in workers
    }
    total = sum(map(len, wanted.values())) or 1
    started = []
    for worker in workers:
        kernels = wanted[id(worker)]
        share = max(1, round((os.cpu_count() or 1) * len(kernels) / total))
        for first in range(min(share, len(kernels))):
            started.append((worker, _compiler(worker, kernels[first::share])))
    end = time.monotonic() + seconds
    for worker, compiler in started:
        try:
            compiler.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            compiler.kill()
        for line in compiler.stdout:
            answer = json.loads(line)
            worker.kernels[answer["case"], answer["variant"]] = answer


def _compiler(worker: Process, kernels: Sequence[Sequence[str]]) -> Any:
    compiler = worker.launch("kernel_bench.build")
    compiler.stdin.write(json.dumps(kernels))
    compiler.stdin.close()
    return compiler


def run(
    workers: Sequence[Process],
    cases: Sequence[Case],
    pairs: int,
    seconds: float,
    compile_seconds: float,
) -> Iterator[table.Row]:
    """Compile everything, then measure kernel by kernel while there is time."""
    start = time.monotonic()
    compile_all(workers, cases, compile_seconds)
    print(f"compiled in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    for worker in workers:
        worker.start()
    alive = [worker for worker in workers if _starts(worker)]
    for case in cases:
        begin = time.monotonic()
        if begin - start < seconds:
            yield from rows(case, measure(case, alive, pairs))
            print(f"  {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)


def _starts(worker: Process) -> bool:
    if worker.ready():
        return True
    mode = worker.environment["REDUCER_COMPAT"]
    print(
        f"{worker.release}, {mode}: does not start; --logs keeps why", file=sys.stderr, flush=True
    )
    return False


def untimed(
    workers: Sequence[Process], cases: Sequence[Case], found: Sequence[table.Row]
) -> list[tuple[str, str]]:
    """The kernels of ours, and the releases, that were to be timed and have no time."""
    timed = {(row.case, row.release) for row in found if row.us is not None}
    ours = [worker.release for worker in workers if "ours" in worker.variants]
    wanted = [(case.name, release) for case in cases for release in ours]
    return [one for one in wanted if one not in timed]


def chosen_cases(only: str, quick: bool) -> list[Case]:
    """The cases whose name holds one of the words of `only`."""
    words = [word for word in only.split(",") if word] or (list(QUICK) if quick else [""])
    return [case for case in all_cases() if any(word in case.name for word in words)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=Path, help="a folder with one folder a release")
    parser.add_argument("--only", default="", help="kernels whose name holds one of these words")
    parser.add_argument("--quick", action="store_true", help="one kernel of each kind")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument(
        "--variants",
        default="ours,native,stock,per_tile,torch",
        help="what to measure; of one release: ours@0.1.13",
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop measuring after")
    parser.add_argument(
        "--compile-seconds", type=float, default=1800.0, help="give up what is not compiled after"
    )
    parser.add_argument("--logs", type=Path, help="keep what the processes print in this folder")
    parser.add_argument("--json", type=Path, help="write everything that was measured here")
    options = parser.parse_args()
    cases = chosen_cases(options.only, options.quick)
    found: list[table.Row] = []
    with tempfile.TemporaryDirectory() as cache:
        workers = processes(
            options.releases, Path(cache), options.logs, options.variants.split(",")
        )
        try:
            for row in run(workers, cases, options.pairs, options.seconds, options.compile_seconds):
                found.append(row)
                print(table.line(row), file=sys.stderr, flush=True)
        finally:
            for worker in workers:
                worker.stop()
    if options.json:
        options.json.write_text(json.dumps([row.data() for row in found], indent=1))
    print("\n".join([*table.lines(found), *table.summary(found)]))
    left = untimed(workers, cases, found)
    if left or not found:
        print(f"not timed: {len(left)} of ours", file=sys.stderr)
        return 1
    return 1 if any("ours" in {**row.wrong, **row.problem} for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
