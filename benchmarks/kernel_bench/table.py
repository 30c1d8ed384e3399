"""Turn samples into rows, and rows into a table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Ratio:
    """Quartiles of the ratio of two kernels that were timed in turns."""

    lower: float
    median: float
    upper: float

    def __str__(self) -> str:
        return f"{self.median:.2f}"


def ratio(mine: Sequence[float], theirs: Sequence[float]) -> Ratio | None:
    """The ratio of the pairs; None where one of the two has no samples."""
    pairs = [a / b for a, b in zip(mine, theirs, strict=False) if a > 0 and b > 0]
    if len(pairs) < 2:
        return None
    lower, median, upper = statistics.quantiles(pairs, n=4)
    return Ratio(lower, median, upper)


@dataclass(frozen=True)
class Row:
    """One kernel on one release.

    Attributes:
        us: quartiles of the time of a launch, microseconds.
        tb_per_s: bytes that must move over the median time, 10^12 bytes a second.
        against: ratios of our time to that of `native`, `stock`, `per_tile` and `torch`.
        wrong: which of the kernels disagreed with float64, with the relative error.
        problem: why a kernel could not be compiled or run.
        resources: registers, stack, local and shared bytes, ours and native's.
    """

    case: str
    release: str
    us: tuple[float, float, float] | None = None
    tb_per_s: float | None = None
    against: dict[str, Ratio] = field(default_factory=dict)
    wrong: dict[str, float] = field(default_factory=dict)
    problem: dict[str, str] = field(default_factory=dict)
    resources: dict[str, dict[str, int]] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """The row as plain data, for a JSON file."""
        return asdict(self)


RIVALS = ("native", "stock", "per_tile", "torch")
#: A ratio counts as above this only if its lower quartile is.
LIMIT = 1.02


def geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def lines(rows: Sequence[Row]) -> list[str]:
    """A line for each row."""
    head = f"{'kernel':38} {'release':7} {'us':>8} {'TB/s':>5}"
    head += "".join(f" {'/' + rival:>9}" for rival in RIVALS) + "  reg/stack/smem (native)"
    return [head, *(line(row) for row in rows)]


def line(row: Row) -> str:
    """One row as text."""
    text = f"{row.case:38} {row.release:7}"
    if row.us is None or row.tb_per_s is None:
        return f"{text} {row.problem.get('ours', 'was not timed')}"
    text += f" {row.us[1]:8.2f} {row.tb_per_s:5.2f}"
    for rival in RIVALS:
        text += f" {_cell(row, rival):>9}"
    return text + "  " + _resources(row)


def _cell(row: Row, rival: str) -> str:
    if rival in row.problem:
        return "fails"
    found = row.against.get(rival)
    if found is None:
        return "-"
    return f"{found}{'!' if rival in row.wrong else ''}"


def _resources(row: Row) -> str:
    texts = []
    for name in ("ours", "native"):
        found = row.resources.get(name)
        if found:
            shared = found.get("shared", 0) + found.get("dynamic", 0)
            texts.append(f"{found.get('reg', 0)}/{found.get('stack', 0)}/{shared}")
    return texts[0] + (f" ({texts[1]})" if len(texts) > 1 else "") if texts else ""


def summary(rows: Sequence[Row]) -> list[str]:
    """The geometric mean of each release against each rival, and what is above the limit."""
    found = []
    for release in dict.fromkeys(row.release for row in rows):
        mine = [row for row in rows if row.release == release]
        parts = []
        for rival in RIVALS:
            ratios = [row.against[rival] for row in mine if rival in row.against]
            mean = geometric_mean(one.median for one in ratios)
            if mean is not None:
                worst = max(one.median for one in ratios)
                parts.append(f"/{rival} {mean:.3f} ({len(ratios)}, worst {worst:.2f})")
        found.append(f"{release}: geometric mean {', '.join(parts) or 'of nothing'}")
    above = [
        f"{row.case} on {row.release}: {row.against['native'].lower:.3f} / {row.against['native']}"
        for row in rows
        if "native" in row.against and row.against["native"].lower > LIMIT
    ]
    found.append(f"above {LIMIT} of native by the lower quartile: {'; '.join(above) or 'none'}")
    wrong = [f"{row.case} on {row.release}" for row in rows if "ours" in row.wrong]
    found.append(f"ours wrong: {'; '.join(wrong) or 'none'}")
    return found
