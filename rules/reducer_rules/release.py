"""TileLang releases, their order, and the boundaries that rules refer to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.?(post|rc|dev|a|b)(\d*))?")


@dataclass(frozen=True, order=True, slots=True)
class Release:
    """A TileLang release, ordered as pip orders them for the numbers TileLang uses."""

    key: tuple[int, ...]
    suffix: tuple[int, int] = (0, 0)
    text: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read `0.1.13`, `v0.1.13`, `0.1.7.post3` or `0.1.15+cu128`.

        Raises:
            ValueError: `text` is no release number.
        """
        match = _VERSION.match(text.strip())
        if match is None:
            raise ValueError(f"not a TileLang release: {text!r} (expected for example 0.1.13)")
        key = tuple(int(part) for part in match.group(1).split("."))
        kind, number = match.group(2), int(match.group(3) or 0)
        rank = {None: 0, "post": 1, "rc": -1, "b": -2, "a": -3, "dev": -4}[kind]
        return cls(key, (rank, number), text.strip().removeprefix("v"))

    def __str__(self) -> str:
        return self.text


def _releases(*texts: str) -> tuple[Release, ...]:
    return tuple(Release.parse(text) for text in texts)


#: The releases every range in the catalogue was established on, oldest first.
TESTED = _releases("0.1.8", "0.1.9", "0.1.10", "0.1.11", "0.1.12", "0.1.13", "0.1.14", "0.1.15")
#: The apache-tvm-ffi that each tested release loads with. Some refuse a newer one, with errors
#: that name neither package.
TVM_FFI = {
    str(release): ffi
    for release, ffi in zip(
        TESTED,
        ("0.1.8", "0.1.8", "0.1.11", "0.1.11", "0.1.11", "0.1.12", "0.1.12", "0.1.12"),
        strict=True,
    )
}
#: The first release with first-class ("v2") reducers.
NATIVE_V2 = Release.parse("0.1.14")


def between(first: str, last: str) -> tuple[Release, ...]:
    """The tested releases from `first` to `last`, both included."""
    return tuple(r for r in TESTED if Release.parse(first) <= r <= Release.parse(last))


def named(releases: tuple[Release, ...]) -> str:
    """`TileLang 0.1.13`, or `TileLang 0.1.8 to 0.1.13` for several, oldest first."""
    if len(releases) == 1:
        return f"TileLang {releases[0]}"
    return f"TileLang {releases[0]} to {releases[-1]}"
