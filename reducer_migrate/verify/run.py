"""One run of `verify`: rewrite the file aside, run its kernels on both sides, compare."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reducer_migrate import frontend
from reducer_migrate.api import Result, migrate
from reducer_migrate.source import Source
from reducer_migrate.verify.arguments import ArgumentFinder, Arguments
from reducer_migrate.verify.expected import Kind
from reducer_migrate.verify.kernels import Kernel, kernels_of
from reducer_migrate.verify.prediction import predict
from reducer_migrate.verify.verdict import Comparison, Side, Verdict, compare
from reducer_migrate.verify.worker import Setting, Worker, WorkerError
from reducer_rules import Release, Severity
from reducer_rules.release import NATIVE_V2
from reducer_rules.timeline import Dialect

#: Said of every kernel; a run ends with it instead of repeating it.
_OF_THE_RUN = ("environment", "gpu")


@dataclass(frozen=True)
class Options:
    """How kernels are run.

    `release` is the TileLang and `place` its side-by-side install, None for the environment's own.
    """

    release: Release
    place: Path | None
    with_compat: bool
    unsafe_fixes: bool
    gpu: bool
    arch: str
    seed: int
    seconds: float


@dataclass(frozen=True)
class Row:
    """One kernel of the table.

    `uncounted` says why its contributions could not be counted.
    """

    kernel: Kernel
    arguments: Arguments
    comparison: Comparison
    predicted: str = ""
    inputs: tuple[str, ...] = ()
    sizes: dict[str, int] | None = None
    contributions: int | None = None
    uncounted: str = ""


@dataclass(frozen=True)
class Subject:
    """The file before and after the rewrite, as syntax, and by whom v2 is lowered."""

    source: Source
    tree: ast.Module
    result: Result
    compat: bool

    @classmethod
    def of(cls, source: Source, tree: ast.Module, options: Options) -> Subject:
        """Rewrite a source for one release, without touching its file."""
        compat = options.with_compat or _needs_compat(source, options.release)
        result = migrate(
            source.text,
            path=source.path,
            tilelang=str(options.release),
            compat=compat,
            unsafe_fixes=options.unsafe_fixes,
        )
        return cls(source, tree, result, compat)

    def is_legacy(self, kernel: Kernel) -> bool:
        """Whether the rewrite changed a kernel, or would have, had it not been refused."""
        return bool(self.refusals(kernel)) or any(
            kernel.holds(finding.start.line) for finding in self.result.fixed
        )

    def refusals(self, kernel: Kernel) -> tuple[str, ...]:
        """Why a kernel is not rewritten: a code and a line of the original for each reason."""
        parsed = ast.parse(self.result.text)
        after = [
            each
            for each in kernels_of(Source.of(self.result.text, self.source.path), parsed)
            if each.name == kernel.name
        ]
        return tuple(
            f"{finding.code} {finding.message}"
            for finding in self.result.remaining
            if finding.severity is Severity.ERROR
            and finding.code < "RM3"
            and any(each.holds(finding.start.line) for each in after)
        )


def _needs_compat(source: Source, release: Release) -> bool:
    """Whether v2 has to be lowered by the runtime."""
    unit = frontend.build(source, ast.parse(source.text))
    rfc = any(Dialect.RFC in reducer.timeline.dialects() for reducer in unit.reducers)
    return release < NATIVE_V2 or unit.imports_compat or rfc


class RunError(Exception):
    """What keeps every kernel from being run; `kind` is `environment` or `gpu`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def run(
    subject: Subject,
    kernels: tuple[Kernel, ...],
    finder: ArgumentFinder,
    given: Callable[[Kernel], Mapping[str, tuple[Any, str]]],
    options: Options,
) -> Iterator[Row]:
    """Verify kernels one after the other; whatever happens to one, the others are run.

    `given` says which arguments the user gives for a kernel, and where.

    Raises:
        RunError: a GPU was asked for and there is none, or TileLang does not load.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="reducer-verify-"))
        code = Path(folder, Path(subject.source.path).name)
        code.write_bytes(subject.source.encode(subject.result.text))
        path = subject.source.path
        before = Worker(Setting(path, path, options.place, False), options.seconds)
        after = Worker(Setting(path, str(code), options.place, subject.compat), options.seconds)
        stack.callback(before.stop)
        stack.callback(after.stop)
        pair = _Pair(before, after, Path(folder), options)
        for kernel in kernels:
            yield _verify(subject, kernel, finder.of(kernel, given(kernel)), pair)


@dataclass(frozen=True)
class _Pair:
    """The two workers, and where they leave their arrays."""

    before: Worker
    after: Worker
    folder: Path
    options: Options


def _verify(subject: Subject, kernel: Kernel, arguments: Arguments, pair: _Pair) -> Row:
    problem = kernel.problem or _missing(arguments, kernel.kinds)
    if problem:
        return Row(kernel, arguments, Comparison(Verdict.NOT_RUN, problem))
    options = pair.options
    refused, legacy = subject.refusals(kernel), subject.is_legacy(kernel)
    predicted = ""
    if legacy:
        predicted = predict(subject.tree, kernel, arguments.values, options.release, options.arch)
    with ThreadPoolExecutor(2) as pool:
        jobs = {}
        if legacy:
            jobs["v1"] = pool.submit(_ask, pair.before, kernel, arguments, pair, "v1")
        if not refused:
            jobs["v2"] = pool.submit(_ask, pair.after, kernel, arguments, pair, "v2")
        answers = {name: job.result() for name, job in jobs.items()}
    return _row(kernel, arguments, answers, refused, predicted, subject.compat)


def _row(
    kernel: Kernel,
    arguments: Arguments,
    answers: dict[str, _Answer],
    refused: tuple[str, ...],
    predicted: str,
    compat: bool,
) -> Row:
    given = [answers[side] for side in ("v1", "v2") if side in answers]
    counted = next((each for each in given if each.counted.outputs is not None), given[0])
    shown = next((each for each in reversed(given) if each.inputs), given[-1])
    if refused:
        comparison = _not_rewritten(answers["v1"].ran, counted.counted, refused[0])
    else:
        before = answers["v1"].ran if "v1" in answers else None
        comparison = compare(before, answers["v2"].ran, counted.counted)
    if comparison.verdict is Verdict.V2_WRONG and not compat:
        reason = f"{comparison.reason}; `--with-compat` lowers it by reducer_compat"
        comparison = replace(comparison, reason=reason)
    return Row(
        kernel,
        arguments,
        comparison,
        predicted,
        shown.inputs,
        shown.sizes,
        counted.contributions,
        "" if counted.counted.error is None else str(counted.counted.error),
    )


def _not_rewritten(v1: Side, counted: Side, reason: str) -> Comparison:
    """A kernel that stays v1 is compared with its source all the same: it may be wrong."""
    found = compare(v1, v1, counted)
    values = {name: value for name, value in (found.values or {}).items() if name != "v2"}
    return Comparison(Verdict.NOT_REWRITTEN, reason, found.place, values, found.observed)


def _missing(arguments: Arguments, kinds: Mapping[str, Kind]) -> str:
    if not arguments.missing:
        return ""
    names = ", ".join(arguments.missing)
    known = {name: kinds[name].example if name in kinds else "..." for name in arguments.missing}
    example = ", ".join(f"{name}={value}" for name, value in known.items())
    return f"needs {names}: pass for example --args '{example}'"


@dataclass(frozen=True)
class _Answer:
    """What one worker said of one kernel."""

    ran: Side
    counted: Side
    inputs: tuple[str, ...] = ()
    sizes: dict[str, int] | None = None
    contributions: int | None = None


def _ask(worker: Worker, kernel: Kernel, arguments: Arguments, pair: _Pair, side: str) -> _Answer:
    options, into = pair.options, pair.folder / f"{side}.npz"
    request = {
        "kernel": kernel.name,
        "arguments": arguments.passed,
        "sizes": arguments.sizes,
        "seed": options.seed,
        "arch": options.arch,
        "gpu": options.gpu,
        "into": str(into),
    }
    try:
        answer = worker.ask(request)
    except WorkerError as error:
        if error.kind in _OF_THE_RUN:
            raise RunError(error.kind, str(error)) from error
        return _Answer(Side(error=error), Side(error=error))
    arrays = _arrays(into)
    dtypes = dict(answer["dtypes"])
    return _Answer(
        _side(answer["run"], arrays.get("run"), dtypes),
        _side(answer["counted"], arrays.get("counted"), dtypes),
        tuple(answer["inputs"]),
        dict(answer["sizes"]),
        answer["counted"].get("contributions"),
    )


def _side(said: dict[str, Any], outputs: Any, dtypes: dict[str, str]) -> Side:
    if "error" in said:
        return Side(error=WorkerError(said["error"]["kind"], said["error"]["message"]))
    return Side(outputs or {}, dtypes, tuple(said.get("faults", ())))


def _arrays(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What a worker saved, by side, variant and name."""
    import numpy as np

    found: dict[str, dict[str, dict[str, Any]]] = {}
    with np.load(path) as archive:
        for key in archive.files:
            variant, side, name = key.split("/", 2)
            found.setdefault(side, {}).setdefault(variant, {})[name] = archive[key]
    return found
