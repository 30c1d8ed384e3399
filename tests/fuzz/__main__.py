"""Run random kernels: ``python -m tests.fuzz --seed S --count N``.

    --first K          start at kernel K of the seed
    --releases DIR     side-by-side installs, as `python -m tests.matrix` makes them in .releases,
                       see reducer_migrate/verify/releases.py for what they may share
    --release V,...    which of them run every kernel; all of them by default. `turns`: the newest
                       runs every kernel in two lanes, the others in turn in one
    --lanes L,...      see tests/fuzz/worker.py; by default native, legacy, and one more in turns
    --jobs J           processes at once
    --patience S       seconds that a kernel may take on one release
    --minutes M        stop after so long
    --journal FILE     keep outcomes there, and go on with what it has none of
    --shrink           shrink each difference before its reproducer is written
    --into DIR         where reproducers go; `none` writes none

The installed TileLang joins those in DIR where they lack it, and is the only one without
--releases. Prints what is different as it is found, a table, and one reproducer for each kind of
difference. `--merge FILE ...` runs nothing, and prints the table of several journals. Exit code 1
when there is a difference.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from reducer_rules.release import TVM_FFI
from tests.fuzz import journal
from tests.fuzz.outcome import Outcome, summary
from tests.fuzz.plan import Share, everywhere, in_turns
from tests.fuzz.session import PATIENCE, StartError, StoppedError, reproducer, run
from tests.fuzz.verdict import LANES

#: Steps of shrinking, and kinds of differences that are shrunk, at most.
TRIES = 400
KINDS = 12
TURNS = "turns"


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    try:
        if options.merge:
            outcomes = journal.read(options.merge)
            for outcome in outcomes:
                _show(outcome)
            print(summary(outcomes))
            return 1 if any(outcome.different for outcome in outcomes) else 0
        places = _places(options.releases, options.release)
        shares = _shares(options, tuple(places))
        outcomes = _carried_out(options, places, shares)
    except (FileNotFoundError, ValueError, StartError, journal.JournalError) as error:
        parser.error(str(error))
    print(summary(outcomes))
    different = [outcome for outcome in outcomes if outcome.different]
    if str(options.into) != "none":
        _write(different, places, options.into, TRIES if options.shrink else 0)
    return 1 if different else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--releases", type=Path)
    parser.add_argument("--release", default="")
    parser.add_argument("--lanes", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--patience", type=float, default=PATIENCE)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--merge", type=Path, nargs="+")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--into", type=Path, default=Path("fuzz-reproducers"))
    return parser


def _shares(options: argparse.Namespace, releases: tuple[str, ...]) -> list[Share]:
    """What is to be run.

    Raises:
        ValueError: there is no such lane.
    """
    lanes = [lane for lane in options.lanes.split(",") if lane]
    unknown = [lane for lane in lanes if lane not in LANES]
    if unknown:
        raise ValueError(f"no lane: {', '.join(unknown)}; choose from {', '.join(LANES)}")
    numbers = range(options.first, options.first + options.count)
    if options.release == TURNS:
        return in_turns(releases, numbers)
    return everywhere(releases, numbers, lanes)


def _carried_out(
    options: argparse.Namespace, places: dict[str, Path | None], shares: list[Share]
) -> list[Outcome]:
    """The outcomes of shares, those that the journal had first."""
    outcomes: list[Outcome] = []
    stop = threading.Event()
    with _journal(options.journal, outcomes) as file:

        def heard(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if file is not None:
                file.write(journal.line(outcome))
                file.flush()
            _show(outcome)

        timer = threading.Timer(options.minutes * 60, stop.set)
        timer.daemon = True
        if options.minutes:
            timer.start()
        shares = journal.left(shares, options.seed, outcomes)
        try:
            run(places, options.seed, shares, options.jobs, heard, options.patience, stop)
        except KeyboardInterrupt:
            print("interrupted")
        timer.cancel()
    return outcomes


@contextmanager
def _journal(path: Path | None, outcomes: list[Outcome]) -> Iterator[TextIO | None]:
    """The file to add to; what it holds already goes to `outcomes`."""
    if path is None:
        yield None
        return
    if path.exists():
        journal.mend(path)
        outcomes += journal.read([path])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield file


def _places(directory: Path | None, releases: str) -> dict[str, Path | None]:
    """Where each chosen release lies, oldest first.

    Raises:
        FileNotFoundError: a release is not there.
    """
    named = [release for release in releases.split(",") if release and release != TURNS]
    installed = _installed()
    if directory is None:
        if named not in ([], [installed]):
            raise FileNotFoundError(f"TileLang {installed} is installed; others need --releases")
        return {installed: None}
    present: dict[str, Path | None] = {}
    for release in TVM_FFI:
        if (directory / release / "tilelang").is_dir():
            present[release] = directory / release
        elif release == installed:
            present[release] = None
    missing = [release for release in named if release not in present]
    if missing or not present:
        raise FileNotFoundError(
            f"no TileLang {' '.join(missing)} in {directory}; `python -m tests.matrix` installs it"
        )
    return {release: place for release, place in present.items() if release in (named or present)}


def _installed() -> str:
    """The release of this environment; empty for none."""
    try:
        return importlib.metadata.version("tilelang").split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""


def _show(outcome: Outcome) -> None:
    verdict = outcome.verdict
    if not verdict.accounted:
        who = f" ({verdict.culprit})" if verdict.culprit else ""
        place = f"{outcome.release} {outcome.name} {outcome.lane}"
        why = f" [known: {outcome.known}]" if outcome.known else ""
        print(f"{place}: {verdict.status}{who}{why}: {verdict.detail[:200]}", flush=True)


def _write(
    different: list[Outcome], places: dict[str, Path | None], into: Path, tries: int
) -> None:
    """One reproducer for each kind of difference."""
    kinds: dict[tuple[str, str, str], Outcome] = {}
    for outcome in different:
        if outcome.lane and outcome.release in places:
            kinds.setdefault(outcome.group, outcome)
    for outcome in list(kinds.values())[:KINDS]:
        try:
            text = reproducer(outcome, places[outcome.release], tries)
        except StoppedError as stop:
            print(f"{outcome.name} {outcome.lane}: {stop} while shrinking")
            continue
        into.mkdir(parents=True, exist_ok=True)
        path = into / f"{outcome.name}_{outcome.lane}_{outcome.release}.py"
        path.write_text(text)
        print(f"\n# {path}\n{text}")


if __name__ == "__main__":
    sys.exit(main())
