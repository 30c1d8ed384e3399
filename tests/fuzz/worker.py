"""One TileLang in a process of its own: kernels come in as JSON lines, verdicts go out.

    PYTHONPATH=RELEASE:.:rules:compat python -m tests.fuzz.worker

Input `{"kernel": description, "lanes": [lane, ...]}` is answered with a verdict for each lane.
`{"kernel": description, "shrink": lane}` is answered with the `text` of a reproducer, of the
smallest kernel that shows the same verdict in the lane, and `{"kernel": description, "control":
true}` lowers and runs the kernel without reducers. `{}` is answered once the release is imported.
Lanes are

    native     what the codemod makes of the legacy spelling, lowered by TileLang alone
    legacy     the legacy spelling, lowered by `reducer_compat`
    shipped    v2 as shipped, lowered by `reducer_compat`
    rfc        v2 as the RFC has it, lowered by `reducer_compat`
    converted  what the codemod makes of the legacy spelling in the RFC's dialect, by the same
    wide       v2 as shipped, lowered by `reducer_compat` with one partial for each thread
    auto       v2 as shipped, where `reducer_compat` chooses whose lowering a kernel gets
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tests.fuzz import reference
from tests.fuzz.expression import IllegalError, InexactError, is_float, mentions
from tests.fuzz.kernel import CopyOut, Kernel, Store, decoded, walk
from tests.fuzz.render import module
from tests.fuzz.reproducer import script
from tests.fuzz.shrink import shrunk
from tests.fuzz.verdict import Verdict

Entry = TypeVar("Entry")


class UnmigratedError(Exception):
    """The codemod left a finding, or a second run changed its output."""


@dataclass(frozen=True)
class Source:
    """A text to compile, and the wrong code or refusal that the codemod foresees for it."""

    text: str
    foreseen: tuple[str, ...] = ()


def judged(kernel: Kernel, lane: str) -> Verdict:
    """Run a kernel in one lane and compare."""
    if lane == "native" and any(reducer.op == "prod" for reducer in kernel.reducers):
        return Verdict("skipped", "TileLang has no prod")
    with _mode(lane):
        verdict = _remarked(kernel, lane)
    if verdict.status in ("right", "unsupported", "unmigrated", "mispredicted"):
        return verdict
    return replace(verdict, culprit=_culprit(kernel, lane, verdict))


def _remarked(kernel: Kernel, lane: str) -> Verdict:
    """A verdict, and what the runtime says that it did on the way."""
    import reducer_compat

    before = reducer_compat.status()
    verdict = _attempt(kernel, lane)
    after = reducer_compat.status()
    counts = _newer(before.counts, after.counts)
    remarks = [descent.note for descent in _newer(before.descents, after.descents)]
    remarks += [f"uncounted: {count}" for count in counts if not count.counted]
    if lane == "auto":
        left = [choice.native for choice in _newer(before.choices, after.choices)]
        remarks += ["left to TileLang"] if any(left) else []
    return replace(verdict, remarks=tuple(dict.fromkeys(remarks)))


def _newer(before: Sequence[Entry], after: Sequence[Entry]) -> Sequence[Entry]:
    """What a list that only keeps its last entries gained."""
    gained = itertools.takewhile(lambda one: not before or one is not before[-1], reversed(after))
    return list(gained)[::-1]


def _attempt(kernel: Kernel, lane: str) -> Verdict:
    from reducer_compat import ReducerError, simt

    foreseen: tuple[str, ...] = ()
    try:
        source = source_of(kernel, lane)
        foreseen = source.foreseen
        produced = _run(kernel, source.text)
    except UnmigratedError as error:
        return Verdict("unmigrated", str(error))
    except simt.UnsupportedError as error:
        return Verdict("unsupported", error.what)
    except ReducerError as error:
        return Verdict("refused", f"{error.code} {error.message}")
    except Exception as error:
        return Verdict("error", f"{type(error).__name__}: {_said(error)}", foreseen=foreseen)
    wrong = differences(kernel, produced.outputs)
    if wrong:
        return Verdict("wrong", wrong[0], foreseen=foreseen)
    faults = produced.report.faults
    if faults:
        detail = f"{faults[0].kind}: {faults[0].message} | {faults[0].statement}"
        return Verdict("fault", detail, foreseen=foreseen)
    # What would have been wrong may be right by luck, what would not have compiled may not.
    refusals = [finding for finding in foreseen if "compile" in finding]
    return Verdict("mispredicted", refusals[0]) if refusals else Verdict("right")


def differences(kernel: Kernel, produced: Sequence[np.ndarray]) -> list[str]:
    """One line for each output that is not the reference's."""
    found = []
    for output, got, wanted in zip(
        kernel.outputs, produced, reference.outputs(kernel), strict=False
    ):
        have = got.astype(np.float64 if is_float(output.dtype) else np.int64)
        odd = np.argwhere(have != wanted)
        if len(odd):
            place = tuple(int(index) for index in odd[0])
            found.append(
                f"{output.name}{list(place)} is {have[place]}, not {wanted[place]} "
                f"({len(odd)} of {have.size} differ)"
            )
    return found


def source_of(kernel: Kernel, lane: str) -> Source:
    """What a lane compiles.

    Raises:
        UnmigratedError: the codemod could not rewrite it whole.
    """
    if lane == "native":
        return migrated(module(kernel, "legacy"), "shipped", compat=False)
    if lane == "converted":
        return migrated(module(kernel, "legacy"), "rfc", compat=True)
    return Source(module(kernel, {"wide": "shipped", "auto": "shipped"}.get(lane, lane)))


def migrated(text: str, dialect: str, compat: bool) -> Source:
    """What the codemod makes of a text."""
    from reducer_migrate import migrate

    options: dict[str, Any] = {"tilelang": "0.1.15", "dialect": dialect, "compat": compat}
    first = migrate(text, **options)
    errors = [d for d in first.remaining if str(d.severity.value) == "error"]
    left = [f"{d.code} {d.message}" for d in errors if not d.code.startswith("RM3")]
    if left:
        raise UnmigratedError(left[0])
    if migrate(first.text, **options).text != first.text:
        raise UnmigratedError("a second run changes the output")
    foreseen = tuple(f"{d.code} {d.message}" for d in errors if d.code.startswith("RM3"))
    return Source(first.text, () if compat else foreseen)


@contextmanager
def _mode(lane: str) -> Iterator[None]:
    """The runtime as a lane needs it: taken out, put in, or kept to the wide plan.

    Its own lowering is asked for, or newer releases would lower many kernels by themselves.
    """
    import reducer_compat

    os.environ["REDUCER_COMPAT"] = "auto" if lane == "auto" else "canonical"
    os.environ.pop("REDUCER_COMPAT_PLAN", None)
    if lane == "wide":
        os.environ["REDUCER_COMPAT_PLAN"] = "wide"
    if lane != "native":
        reducer_compat.install()
        yield
        return
    reducer_compat.uninstall()
    try:
        with _without_shim():
            yield
    finally:
        reducer_compat.install()


@contextmanager
def _without_shim() -> Iterator[None]:
    """TileLang's own rewriting of v1 switched off, so that what is left of v1 shows."""
    import tilelang.transform as transform

    original = getattr(transform, "CanonicalizeLegacyReducer", None)
    if original is None:
        yield
        return
    transform.CanonicalizeLegacyReducer = lambda: lambda mod: mod
    try:
        yield
    finally:
        transform.CanonicalizeLegacyReducer = original


# -- whose fault ------------------------------------------------------------------------------


def _culprit(kernel: Kernel, lane: str, verdict: Verdict) -> str:
    """Who does the same alone: `tilelang` without any reducer, `native` with its own."""
    with _mode("native"):
        if _control_shows(kernel, verdict):
            return "tilelang"
        if lane != "native":
            return "runtime"
        alone = _attempt(_without_v1_batches(kernel), "shipped")
    return "native" if alone.status == verdict.status else "codemod"


def _without_v1_batches(kernel: Kernel) -> Kernel:
    """The kernel without the hints that the codemod drops."""
    kept = tuple(replace(r, batch=1) if r.legacy else r for r in kernel.reducers)
    return replace(kernel, reducers=kept)


#: What the control does by itself: it stores contributions where nothing reads them.
_OF_THE_CONTROL = ("unwritten-output",)


def _control_shows(kernel: Kernel, verdict: Verdict) -> bool:
    """Whether a kernel shows the same trouble when it has no reducers."""
    from reducer_compat import simt

    try:
        produced = _run(kernel, module(kernel, "control"))
    except simt.UnsupportedError:
        return False
    except Exception:
        return verdict.status in ("refused", "error")
    if any(fault.kind not in _OF_THE_CONTROL for fault in produced.report.faults):
        return True
    free = _free_of_reducers(kernel)
    named = [line for line in differences(kernel, produced.outputs) if line.split("[")[0] in free]
    return verdict.status == "wrong" and verdict.detail.split("[")[0] in {
        line.split("[")[0] for line in named
    }


def _free_of_reducers(kernel: Kernel) -> set[str]:
    """The outputs that no reducer has a say in."""
    names = {reducer.name for reducer in kernel.reducers}
    tainted = set()
    for stmt in walk(kernel.body):
        if isinstance(stmt, CopyOut) and stmt.source in names:
            tainted.add(stmt.output)
        if isinstance(stmt, Store) and mentions(stmt.value) & names:
            tainted.add(stmt.buffer)
    return {output.name for output in kernel.outputs} - tainted


# -- running ----------------------------------------------------------------------------------


def _run(kernel: Kernel, text: str) -> Any:
    """The interpreter's outputs and report."""
    from reducer_compat import simt

    lowered = simt.lower(_built(text), kernel.arch)
    inputs = [array.content() for array in kernel.arrays]
    first, count = len(inputs), len(lowered.source.params) - len(inputs)
    return simt.execute_lowered(lowered, *inputs, out_idx=list(range(first, first + count)))


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz")


_COUNT = iter(range(10**9))


def _built(text: str) -> Any:
    """The kernel in a text; it comes from a file, because tracing reads the source again."""
    path = Path(_folder().name) / f"kernel{next(_COUNT)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.build()


def _said(error: BaseException) -> str:
    """The last line of a message: TVM puts a backtrace before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def answer(asked: dict[str, Any], release: str) -> dict[str, Any]:
    """The answer to one line of input; nothing is asked by one that only wants to hear."""
    if not asked:
        return {"release": release}
    kernel: Kernel = decoded(asked["kernel"])
    if "control" in asked:
        with _mode("native"):
            return {"shows": _control_shows(kernel, Verdict("error"))}
    if "shrink" not in asked:
        return {lane: asdict(judged(kernel, lane)) for lane in asked["lanes"]}
    lane = asked["shrink"]
    verdict = judged(kernel, lane)
    smallest, tried = shrunk(kernel, lambda one: _shows(one, lane, verdict), asked["tries"])
    verdict = judged(smallest, lane)
    try:
        text = source_of(smallest, lane).text
    except UnmigratedError:
        text = module(smallest, "legacy")
    return {"text": script(smallest, text, lane, verdict, release), "tried": tried}


def _shows(kernel: Kernel, lane: str, verdict: Verdict) -> bool:
    """Whether a smaller kernel is legal and shows the same trouble."""
    try:
        reference.outputs(kernel)
    except (IllegalError, InexactError):
        return False
    if not kernel.outputs or not kernel.reducers:
        return False
    with _mode(lane):
        found = _attempt(kernel, lane)
    if found.signature != verdict.signature:
        return False
    return judged(kernel, lane).culprit == verdict.culprit


def main() -> None:
    """Answer until the input ends. Nothing but answers goes to the real standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")
    warnings.simplefilter("ignore")
    import tilelang

    import reducer_compat  # noqa: F401

    release = str(tilelang.__version__).split("+")[0]
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line), release)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
