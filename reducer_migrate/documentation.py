"""Every code with its documentation: rules and notices as one table."""

from __future__ import annotations

from functools import cache
from itertools import takewhile

from reducer_rules.catalogue import rules
from reducer_rules.notices import NOTICES, Notice
from reducer_rules.rule import Rule

Entry = Rule | Notice
#: The likeness from which on a suggestion helps more than it misleads.
_ALIKE = 0.6


class UnknownCodeError(ValueError):
    """A text that names no code, prefix or rule; the message names the nearest one."""


@cache
def entries() -> tuple[Entry, ...]:
    """Every rule and notice, ordered by code."""
    return tuple(sorted((*rules(), *NOTICES), key=lambda entry: entry.code))


@cache
def codes() -> tuple[str, ...]:
    """Every code, in order."""
    return tuple(entry.code for entry in entries())


def find(text: str) -> Entry:
    """The entry with that code or kebab-case name, in any case.

    Raises:
        UnknownCodeError: there is none.
    """
    wanted = text.strip()
    for entry in entries():
        if wanted.upper() == entry.code or wanted.lower() == entry.name:
            return entry
    raise UnknownCodeError(f"unknown rule {text!r}{suggestion(text)}")


def resolve_selector(text: str) -> str:
    """The code prefix that a selector stands for: `""` for `ALL`, `RM2`, `RM203`, or a name's code.

    Raises:
        UnknownCodeError: no code starts with it and no rule has the name.
    """
    wanted = text.strip()
    if wanted.upper() == "ALL":
        return ""
    for entry in entries():
        if wanted.lower() == entry.name:
            return entry.code
    prefix = wanted.upper()
    if prefix.startswith("RM") and any(code.startswith(prefix) for code in codes()):
        return prefix
    raise UnknownCodeError(f"unknown rule code {text!r}{suggestion(text)}")


def suggestion(text: str) -> str:
    """`; did you mean ...?` for the nearest code or name, else where the codes are listed."""
    names = [name for entry in entries() for name in (entry.code, entry.name)]
    best = max(names, key=lambda name: _likeness(text, name))
    if _likeness(text, best)[0] >= _ALIKE:
        return f"; did you mean {best!r}?"
    return "; `reducer-migrate rules` lists every code"


def _likeness(text: str, name: str) -> tuple[float, int]:
    """How alike two names are; among equals the one that starts alike."""
    import difflib

    wanted, known = text.strip().lower(), name.lower()
    ratio = difflib.SequenceMatcher(None, wanted, known).ratio()
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(wanted, known, strict=False))
    return ratio, sum(1 for _ in alike)


def markdown(entry: Entry) -> str:
    """The full documentation of one code, as Markdown."""
    parts = [
        f"# {entry.code} {entry.name}",
        f"{_capital(entry.summary)}.",
        f"Severity: {entry.severity.value}. Fix: {entry.fix.value}.",
        "## Why",
        entry.explanation.strip(),
        "## What to do",
        f"{_capital(entry.help)}.",
    ]
    for title, examples in (("Reported", entry.invalid), ("Accepted", entry.valid)):
        if examples:
            parts.append(f"## {title}")
            parts += [f"```python\n{example.strip(chr(10))}\n```" for example in examples]
    return "\n\n".join(parts) + "\n"


def _capital(text: str) -> str:
    """`text` as the start of a sentence, without the full stop at its end."""
    sentence = text.strip().removesuffix(".")
    return sentence[:1].upper() + sentence[1:]
