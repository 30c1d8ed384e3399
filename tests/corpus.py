"""The golden kernels: each v1 input with the output, or the refusal, that it must give.

`tests/golden/NAME.py` is the input. Beside it, where they differ from "nothing changes" and
"nothing is said":

- `NAME.out.py`: the output in the default (shipped) spelling of v2
- `NAME.rfc.py`, `NAME.shipped.py`: the output where that dialect is asked for
- `NAME.diag`: what remains to be said, one `LINE CODE FRAGMENT` or `LINE:COLUMN CODE FRAGMENT`
  a line; positions are those of the input, FRAGMENT is part of the message

A name that starts with `refuse_` keeps its bytes but for what its `.out.py` says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = ("rfc", "shipped")
_EXPECTATION = re.compile(r"(\d+)(?::(\d+))? (RM\d+) (.+)")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One diagnostic that must be reported; column None where any will do."""

    line: int
    column: int | None
    code: str
    fragment: str

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """Read one line of a `.diag` file.

        Raises:
            ValueError: the line is not of the form that the module states.
        """
        match = _EXPECTATION.fullmatch(text)
        if match is None:
            raise ValueError(f"not LINE[:COLUMN] CODE FRAGMENT: {text!r}")
        line, column, code, fragment = match.groups()
        return cls(int(line), int(column) if column else None, code, fragment)


@dataclass(frozen=True)
class Golden:
    """One kernel file and what must become of it."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def refused(self) -> bool:
        return self.name.startswith("refuse_")

    @cached_property
    def source(self) -> str:
        return _read(self.path)

    @cached_property
    def output(self) -> str:
        """The expected text in the default spelling."""
        return self.converted("out") or self.source

    @cached_property
    def output_path(self) -> Path:
        """The file that holds `output`."""
        path = self.path.with_suffix(".out.py")
        return path if path.exists() else self.path

    def converted(self, suffix: str) -> str | None:
        """The expected text of `NAME.SUFFIX.py`; None where there is no such file."""
        path = self.path.with_suffix(f".{suffix}.py")
        return _read(path) if path.exists() else None

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        path = self.path.with_suffix(".diag")
        lines = _read(path).splitlines() if path.exists() else []
        return tuple(map(Expectation.parse, lines))


def _read(path: Path) -> str:
    return path.read_bytes().decode()


def goldens() -> tuple[Golden, ...]:
    """Every golden kernel, by name."""
    inputs = (path for path in GOLDEN.glob("*.py") if "." not in path.stem)
    return tuple(Golden(path) for path in sorted(inputs))
