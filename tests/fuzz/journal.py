"""Outcomes as lines of JSON, so that a campaign can be stopped, resumed, and merged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tests.fuzz.outcome import Outcome
from tests.fuzz.plan import Share
from tests.fuzz.verdict import Verdict


class JournalError(Exception):
    """A file that is no journal; the argument says where and why."""


def line(outcome: Outcome) -> str:
    """An outcome as a line of a journal."""
    verdict = {name: held for name, held in asdict(outcome.verdict).items() if held}
    fields = {"kernel": outcome.name, "release": outcome.release, "lane": outcome.lane}
    return json.dumps({**fields, **verdict}) + "\n"


def read(paths: Iterable[Path]) -> list[Outcome]:
    """The outcomes in journals, each kernel, release and lane once: the last one counts.

    A last line that is cut off, as a process that was killed leaves it, is passed over.

    Raises:
        JournalError: a file is something else.
    """
    found: dict[tuple[str, str, str], Outcome] = {}
    for path in paths:
        lines = path.read_text().split("\n")
        for number, text in enumerate(lines[:-1], 1):
            outcome = _outcome(text, f"{path}:{number}")
            found[outcome.name, outcome.release, outcome.lane] = outcome
    return list(found.values())


def _outcome(text: str, place: str) -> Outcome:
    try:
        fields = json.loads(text)
        name, release, lane = (fields.pop(key) for key in ("kernel", "release", "lane"))
        for key in ("foreseen", "remarks"):
            fields[key] = tuple(fields.get(key, ()))
        return Outcome(name, release, lane, Verdict(**fields))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JournalError(f"{place}: no outcome of this fuzzer: {error!r}") from error


def mend(path: Path) -> None:
    """Take a last line away that was not written whole."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)


def left(shares: Sequence[Share], seed: int, outcomes: Iterable[Outcome]) -> list[Share]:
    """The part of shares that has no outcome yet.

    A kernel whose process ended in a release has its outcome: it is not tried again.
    """
    done: dict[tuple[str, str], set[str]] = {}
    ended = set()
    for outcome in outcomes:
        done.setdefault((outcome.release, outcome.name), set()).add(outcome.lane)
        if outcome.verdict.status in ("crashed", "late"):
            ended.add((outcome.release, outcome.name))
    found = []
    for share in shares:
        kernels = []
        for number, lanes in share.kernels:
            key = (share.release, f"{seed}-{number}")
            missing = tuple(lane for lane in lanes if lane not in done.get(key, ()))
            if missing and key not in ended:
                kernels.append((number, missing))
        if kernels:
            found.append(replace(share, kernels=tuple(kernels)))
    return found
