"""Rows as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from reducer_migrate import __version__
from reducer_migrate.verify.literals import shown
from reducer_migrate.verify.run import Row
from reducer_migrate.verify.verdict import Verdict

#: Wide enough for any row where no terminal says how wide it is.
_UNBOUNDED = 1000
_NOTHING = "-"


def table(rows: Sequence[Row], release: str, by: str, stream: TextIO) -> None:
    """Print the table, and below it what did not fit into a cell."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    headings = (f"v1 by TileLang {release}", f"v2 by {by}")
    for heading in ("kernel", "inputs", *headings, "verdict", "predicted", "observed"):
        made.add_column(heading, overflow="fold")
    for row in rows:
        made.add_row(*_cells(row))
    width = None if stream.isatty() else _UNBOUNDED
    console = Console(file=stream, width=width, highlight=False, markup=False, soft_wrap=False)
    with console.capture() as captured:
        console.print(made)
    # The box draws a line below the headings with trailing blanks.
    lines = [line.rstrip() for line in captured.get().split("\n")]
    stream.write("\n".join(line for line in lines if line) + "\n")
    for line in _footnotes(rows):
        stream.write(line + "\n")


def _cells(row: Row) -> tuple[str, ...]:
    compared = row.comparison
    values = compared.values or {}
    place = "" if compared.place is None else f"{compared.place} = "
    return (
        row.kernel.name,
        str(row.arguments) or ", ".join(row.inputs) or _NOTHING,
        *(f"{place}{_number(values[side])}" if side in values else _NOTHING for side in _SIDES),
        compared.verdict.value,
        row.predicted or _NOTHING,
        compared.observed or _NOTHING,
    )


_SIDES = ("v1", "v2")


def _number(value: float) -> str:
    return f"{value:.7g}"


def _footnotes(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        where = f"{row.kernel.name} (line {row.kernel.line})"
        counted = (row.comparison.values or {}).get("counted")
        if counted is not None and row.comparison.verdict is not Verdict.RIGHT:
            place = f"{row.comparison.place} = {_number(counted)}"
            yield f"{where}: the source makes {place}, of {_contributions(row)}"
        if row.comparison.reason:
            yield f"{where}: {row.comparison.reason}"
        if row.uncounted and row.comparison.values:
            yield f"{where}: its contributions were not counted: {row.uncounted}"


def _contributions(row: Row) -> str:
    number = row.contributions or 0
    return f"{number} contribution{'' if number == 1 else 's'}"


def summary(rows: Sequence[Row]) -> str:
    """One sentence on what came out."""
    counts = dict.fromkeys(Verdict, 0)
    for row in rows:
        counts[row.comparison.verdict] += 1
    said = [f"{number} {verdict.value}" for verdict, number in counts.items() if number]
    kernels = f"{len(rows)} kernel{'' if len(rows) == 1 else 's'}"
    return f"{kernels}: {', '.join(said)}."


def exit_code(rows: Sequence[Row]) -> int:
    """1 where numbers differ or a rewrite is refused, else 2 where a kernel was not run, else 0."""
    verdicts = [row.comparison.verdict for row in rows]
    if any(verdict.mismatch for verdict in verdicts):
        return 1
    return 2 if Verdict.NOT_RUN in verdicts else 0


def as_json(rows: Sequence[Row], **head: Any) -> str:
    """The rows as one JSON object, with `head` before them."""
    made = {"version": __version__, **head, "kernels": [_object(row) for row in rows]}
    return json.dumps(made, indent=2, allow_nan=False) + "\n"


def _object(row: Row) -> dict[str, Any]:
    compared = row.comparison
    return {
        "kernel": row.kernel.name,
        "line": row.kernel.line,
        "arguments": {name: _plain(value) for name, value in row.arguments.values.items()},
        "sizes": row.sizes or {},
        "inputs": list(row.inputs),
        "missing": list(row.arguments.missing),
        "verdict": compared.verdict.name.lower().replace("_", "-"),
        "reason": compared.reason or None,
        "predicted": row.predicted or None,
        "observed": compared.observed or None,
        "contributions": row.contributions,
        "not_counted": row.uncounted or None,
        "element": None if compared.place is None else str(compared.place),
        "variant": None if compared.place is None else compared.place.variant,
        "values": {name: _json_number(each) for name, each in (compared.values or {}).items()},
    }


def _plain(value: Any) -> Any:
    return shown(value) if isinstance(value, dict) else value


def _json_number(value: float) -> float | str:
    """A number, or the name of one that JSON does not have."""
    return value if abs(value) < float("inf") else str(value)
