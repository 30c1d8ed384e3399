"""Adopt now, fail only on what is new: findings recorded in a file that reviewers can read.

A finding is recognized by its path, code, reducer and the text of its line, never by its line
number, so code that moves within its file keeps its entries. Equal findings are counted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reducer_migrate.diagnostic import Diagnostic
from reducer_rules.notices import FILE_ERRORS

_VERSION = 1


class BrokenBaselineError(ValueError):
    """The baseline cannot be read, is no JSON, or has another shape."""


class Key(NamedTuple):
    """What makes two findings the same one."""

    path: str
    code: str
    reducer: str
    line: str


@dataclass(frozen=True)
class Baseline:
    """The findings that were adopted. `base` is the directory that the paths are relative to."""

    base: Path
    counts: Counter[Key] = field(default_factory=Counter)

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read a baseline.

        Raises:
            BrokenBaselineError: it is missing, unreadable, or not a baseline of this version.
        """
        base = Path(os.path.abspath(path)).parent
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise BrokenBaselineError(f"cannot read the baseline: {error.strerror}") from error
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise BrokenBaselineError(f"the baseline is no JSON: {error.msg} at {place}") from error
        except (UnicodeDecodeError, RecursionError) as error:
            raise BrokenBaselineError(f"the baseline is no JSON: {error}") from error
        return cls(base, _counts(document))

    def key(self, diagnostic: Diagnostic) -> Key:
        path = os.path.relpath(os.path.abspath(diagnostic.path), self.base)
        line = " ".join(diagnostic.source_line.split())
        return Key(Path(path).as_posix(), diagnostic.code, diagnostic.reducer, line)

    def split(
        self, diagnostics: Sequence[Diagnostic]
    ) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
        """The new findings and the adopted ones of one file, each in the order given.

        Of several equal findings the first ones are the adopted ones.
        """
        left = Counter(self.counts)
        new: list[Diagnostic] = []
        adopted: list[Diagnostic] = []
        for diagnostic in diagnostics:
            key = self.key(diagnostic)
            known = diagnostic.code not in FILE_ERRORS and left[key] > 0
            left[key] -= known
            (adopted if known else new).append(diagnostic)
        return tuple(new), tuple(adopted)

    def stale(self, checked: Iterable[str], adopted: Iterable[Diagnostic]) -> int:
        """How many entries about the files `checked` were not met by any finding in `adopted`."""
        left = self.counts - Counter(map(self.key, adopted))
        paths = {self._relative(path) for path in checked}
        return sum(count for key, count in left.items() if key.path in paths)

    def _relative(self, path: str) -> str:
        return Path(os.path.relpath(os.path.abspath(path), self.base)).as_posix()


def dump(path: str | Path, diagnostics: Iterable[Diagnostic]) -> str:
    """The text of a baseline, to be written to `path`, that adopts `diagnostics`."""
    empty = Baseline(Path(os.path.abspath(path)).parent)
    counts = Counter(empty.key(d) for d in diagnostics if d.code not in FILE_ERRORS)
    findings = [
        {**key._asdict(), "count": count} if count > 1 else key._asdict()
        for key, count in sorted(counts.items())
    ]
    document = {"version": _VERSION, "tool": "reducer-migrate", "findings": findings}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # Lines stay readable; a file name that is no UTF-8 has surrogates, escaped as JSON does.
    return text.encode(errors="backslashreplace").decode()


def write(path: str | Path, diagnostics: Iterable[Diagnostic]) -> None:
    """Write a baseline that adopts `diagnostics`; an old one is replaced as a whole.

    Raises:
        OSError: it cannot be written.
    """
    fresh = Path(f"{path}.new")
    fresh.write_text(dump(path, diagnostics), encoding="utf-8", newline="\n")
    os.replace(fresh, path)


def _counts(document: object) -> Counter[Key]:
    """The entries of a decoded baseline.

    Raises:
        BrokenBaselineError: it has another shape.
    """
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise BrokenBaselineError('the baseline has no list "findings"')
    if document.get("version") != _VERSION:
        version = document.get("version")
        raise BrokenBaselineError(f"the baseline has version {version!r}, expected {_VERSION}")
    counts: Counter[Key] = Counter()
    for number, entry in enumerate(document["findings"], 1):
        key, count = _entry(entry, number)
        counts[key] += count
    return counts


def _entry(entry: object, number: int) -> tuple[Key, int]:
    if not isinstance(entry, dict):
        raise BrokenBaselineError(f"finding {number} of the baseline is no object")
    values = [entry.get(name) for name in Key._fields]
    for name, value in zip(Key._fields, values, strict=True):
        if not isinstance(value, str):
            raise BrokenBaselineError(f'finding {number} of the baseline has no text "{name}"')
    count = entry.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise BrokenBaselineError(f"finding {number} of the baseline has the count {count!r}")
    return Key(*map(str, values)), count
