"""Run random kernels: ``python -m tests.fuzz --seed S --count N``.

    --first K          start at kernel K of the seed
    --releases DIR     side-by-side installs, as `python -m tests.matrix` makes them in .releases
    --release V,...    which of them; without --releases the installed TileLang is used
    --lanes L,...      see tests/fuzz/worker.py; by default native, legacy, and one more in turns
    --jobs J           processes at once
    --shrink           shrink each difference before its reproducer is written
    --into DIR         where reproducers go

Prints what is different as it is found, a table, and one reproducer for each kind of difference.
Exit code 1 when there is one.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from pathlib import Path

from reducer_rules.release import TVM_FFI
from tests.fuzz.session import Outcome, StoppedError, reproducer, run, summary
from tests.fuzz.verdict import LANES

#: Steps of shrinking, and kinds of differences that are shrunk, at most.
TRIES = 400
KINDS = 12


def main() -> int:
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
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--into", type=Path, default=Path("fuzz-reproducers"))
    options = parser.parse_args()
    try:
        places = _places(options.releases, options.release)
    except FileNotFoundError as error:
        parser.error(str(error))
    numbers = range(options.first, options.first + options.count)
    lanes = [lane for lane in options.lanes.split(",") if lane]
    unknown = [lane for lane in lanes if lane not in LANES]
    if unknown:
        parser.error(f"no lane: {', '.join(unknown)}; choose from {', '.join(LANES)}")
    outcomes: list[Outcome] = []

    def heard(outcome: Outcome) -> None:
        outcomes.append(outcome)
        _show(outcome)

    try:
        run(places, options.seed, numbers, options.jobs, lanes, heard)
    except KeyboardInterrupt:
        print("interrupted")
    print(summary(outcomes))
    different = [outcome for outcome in outcomes if outcome.different]
    _write(different, places, options.into, TRIES if options.shrink else 0)
    return 1 if different else 0


def _places(directory: Path | None, releases: str) -> dict[str, Path | None]:
    """Where each chosen release lies.

    Raises:
        FileNotFoundError: a release is not there.
    """
    chosen = [release for release in releases.split(",") if release]
    if directory is None:
        installed = importlib.metadata.version("tilelang").split("+")[0]
        if chosen not in ([], [installed]):
            raise FileNotFoundError(f"TileLang {installed} is installed; others need --releases")
        return {installed: None}
    places = {release: directory / release for release in chosen or TVM_FFI}
    for release, place in places.items():
        if not (place / "tilelang").is_dir():
            raise FileNotFoundError(
                f"no TileLang {release} in {directory}; `python -m tests.matrix` installs it"
            )
    return dict(places)


def _show(outcome: Outcome) -> None:
    verdict = outcome.verdict
    if not verdict.accounted:
        who = f" ({verdict.culprit})" if verdict.culprit else ""
        place = f"{outcome.release} {outcome.kernel.name} {outcome.lane}"
        why = f" [known: {outcome.known}]" if outcome.known else ""
        print(f"{place}: {verdict.status}{who}{why}: {verdict.detail[:200]}", flush=True)


def _write(
    different: list[Outcome], places: dict[str, Path | None], into: Path, tries: int
) -> None:
    """One reproducer for each kind of difference."""
    kinds: dict[tuple[str, str, str], Outcome] = {}
    for outcome in different:
        if outcome.lane:
            kinds.setdefault(outcome.group, outcome)
    for outcome in list(kinds.values())[:KINDS]:
        try:
            text = reproducer(outcome, places[outcome.release], tries)
        except StoppedError as stop:
            print(f"{outcome.kernel.name} {outcome.lane}: {stop} while shrinking")
            continue
        into.mkdir(parents=True, exist_ok=True)
        path = into / f"{outcome.kernel.name}_{outcome.lane}_{outcome.release}.py"
        path.write_text(text)
        print(f"\n# {path}\n{text}")


if __name__ == "__main__":
    sys.exit(main())
