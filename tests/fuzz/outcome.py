"""What became of kernels, counted by release and lane."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from reducer_rules.release import Release
from tests.fuzz.generate import generate
from tests.fuzz.kernel import Kernel
from tests.fuzz.known import explanation
from tests.fuzz.verdict import Verdict

#: The columns of a summary.
COLUMNS = (
    "right",
    "different",
    "known",
    "TileLang wrong",
    "beyond TileLang",
    "mispredicted",
    "unsupported",
    "skipped",
)


@dataclass(frozen=True)
class Outcome:
    """What became of a kernel on one release, in one lane; `name` is its seed and number."""

    name: str
    release: str
    lane: str
    verdict: Verdict

    @property
    def kernel(self) -> Kernel:
        """The kernel, generated again."""
        return _named(self.name)

    @property
    def known(self) -> str:
        """The name of the known fault that this shows, or nothing."""
        return explanation(self.kernel, self.release, self.lane, self.verdict)

    @property
    def different(self) -> bool:
        """Whether this is a difference that nothing explains."""
        return not self.verdict.accounted and not self.known

    @property
    def column(self) -> str:
        """The heading under which a summary counts it."""
        different = not self.verdict.accounted
        return "known" if different and self.known else self.verdict.column

    @property
    def group(self) -> tuple[str, str, str]:
        """Alike for outcomes that show the same trouble."""
        return (self.lane, self.verdict.culprit, self.verdict.signature)


@functools.lru_cache(maxsize=256)
def _named(name: str) -> Kernel:
    seed, number = name.split("-")
    return generate(int(seed), int(number))


def summary(outcomes: Iterable[Outcome]) -> str:
    """How many kernels came out how, by release and lane, and what the runtime remarked.

    The last line says it in one.
    """
    listed = list(outcomes)
    cells = Counter((one.release, one.lane or "(process)", one.column) for one in listed)
    rows = sorted({(release, lane) for release, lane, _ in cells}, key=_by_release)
    lines = [f"{'release':8} {'lane':10}" + "".join(f"{column:>16}" for column in COLUMNS)]
    for release, lane in rows:
        counts = "".join(f"{cells[release, lane, column]:16}" for column in COLUMNS)
        lines.append(f"{release:8} {lane:10}{counts}")
    known = Counter(one.known for one in listed if one.column == "known")
    lines += [f"known: {count} x {name}" for name, count in known.most_common()]
    remarks = Counter(remark.split(":")[0] for one in listed for remark in one.verdict.remarks)
    lines += [f"remarked: {count} x {text}" for text, count in remarks.most_common()]
    return "\n".join([*lines, _line(listed)])


def _line(outcomes: list[Outcome]) -> str:
    counts = Counter(one.column for one in outcomes)
    said = ", ".join(f"{counts[column]} {column}" for column in COLUMNS if counts[column])
    kernels = len({one.name for one in outcomes})
    return f"{kernels} kernels, {len(outcomes)} runs: {said or 'none'}"


def _by_release(row: tuple[str, str]) -> tuple[Release, str]:
    release, lane = row
    return Release.parse(release), lane
