"""Patterns in the syntax of .gitignore, cheap enough to ask of every file of a tree.

The semantics are those of gitignore(5): the last pattern that matches decides, a file nearer to
the entry goes before one further up, and nothing below an ignored directory is looked at (the
walk does not enter it). Most patterns are plain names or suffixes and never become a regular
expression.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Rule(NamedTuple):
    """One pattern. `anchored` compares the path below the base, otherwise the last name."""

    kind: str
    text: str
    negated: bool
    directories_only: bool
    anchored: bool

    def matches(self, path: str, name: str) -> bool:
        """Whether the pattern matches, `path` being relative and `name` its last part."""
        subject = path if self.anchored else name
        if self.kind == "literal":
            return subject == self.text
        if self.kind == "suffix":
            return subject.endswith(self.text)
        return re.match(self.text, subject) is not None


class _Rules:
    """Rules with a quick answer for the usual case, that none of them matches."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules
        literals = [rule for rule in rules if rule.kind == "literal"]
        self._names = {rule.text for rule in literals if not rule.anchored}
        self._paths = {rule.text for rule in literals if rule.anchored}
        self._suffixes = tuple(rule.text for rule in rules if rule.kind == "suffix")
        self._name = _any(rule for rule in rules if not rule.anchored)
        self._path = _any(rule for rule in rules if rule.anchored)

    def decide(self, path: str, name: str) -> bool | None:
        """What the last rule that matches says; `path` is relative, `name` its last part."""
        if not (
            name in self._names
            or path in self._paths
            or name.endswith(self._suffixes)
            or (self._name and self._name(name))
            or (self._path and self._path(path))
        ):
            return None
        return next(not rule.negated for rule in self._rules if rule.matches(path, name))


def _any(rules: Iterable[Rule]) -> Callable[[str], object] | None:
    texts = [rule.text for rule in rules if rule.kind == "regex"]
    return re.compile("|".join(texts)).match if texts else None


class Patterns:
    """The patterns of one file or option, relative to the directory `base`."""

    def __init__(self, lines: Iterable[str], base: str) -> None:
        self.base = base if base.endswith(os.sep) else base + os.sep
        # The last rule that matches decides, so the last comes first.
        rules = [rule for rule in map(parse, lines) if rule is not None][::-1]
        files = [rule for rule in rules if not rule.directories_only]
        self._directories = _Rules(rules)
        self._files = _Rules(files)
        self._python = _Rules([rule for rule in files if _may_match_python(rule)])

    def decide(self, path: str, directory: bool) -> bool | None:
        """True: ignored, False: expressly kept, None: nothing matches. `path` is absolute."""
        if path.startswith(self.base):
            relative = path[len(self.base) :]
        else:
            relative = os.path.splitdrive(path)[1].lstrip(os.sep)
        relative = relative.replace(os.sep, "/")
        name = relative.rpartition("/")[2]
        if directory:
            return self._directories.decide(relative, name)
        return (self._python if name.endswith(".py") else self._files).decide(relative, name)

    def covers(self, path: str, directory: bool = False) -> bool:
        """Whether `path` (absolute) or a directory that holds it is ignored."""
        inside = path.startswith(self.base)
        position = len(self.base) if inside else 1
        while (position := path.find(os.sep, position)) >= 0:
            if self.decide(path[:position], True):
                return True
            position += 1
        return self.decide(path, directory) is True


class Ignore(NamedTuple):
    """The patterns that hold in one directory, nearest first: a linked list up the tree."""

    patterns: Patterns
    above: Ignore | None

    def ignores(self, path: str, directory: bool) -> bool:
        """Whether an entry is ignored, the directories above it being known not to be."""
        level: Ignore | None = self
        while level is not None:
            decision = level.patterns.decide(path, directory)
            if decision is not None:
                return decision
            level = level.above
        return False


def parse(line: str) -> Rule | None:
    """One line of a .gitignore; None for comments, blank lines and lines without effect."""
    line = _strip(line.rstrip("\r\n"))
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    pattern = line[1:] if negated else line
    directories_only = pattern.endswith("/")
    pattern = pattern[:-1] if directories_only else pattern
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if pattern.startswith("**/") and "/" not in pattern[3:]:
        anchored, pattern = False, pattern[3:]
    if not pattern:
        return None
    kind, text = _classify(pattern, anchored)
    return Rule(kind, text, negated, directories_only, anchored)


def _strip(line: str) -> str:
    """Without trailing spaces, of which one that a backslash quotes stays."""
    stripped = line.rstrip(" ")
    quoted = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
    return stripped + " " if quoted and len(stripped) < len(line) else stripped


# Compiled when the first pattern needs them: most runs see none.
_MAGIC = r"[*?\[\\]"


def _classify(pattern: str, anchored: bool) -> tuple[str, str]:
    if not re.search(_MAGIC, pattern):
        return "literal", pattern
    if not anchored and pattern[0] == "*" and not re.search(_MAGIC, pattern[1:]):
        return "suffix", pattern[1:]
    return "regex", _translate(pattern)


def _may_match_python(rule: Rule) -> bool:
    if rule.kind == "literal":
        return rule.text.endswith(".py")
    if rule.kind == "suffix":
        return rule.text.endswith(".py") or ".py".endswith(rule.text)
    return True


_PIECE = (
    r"(?P<lead>^\*\*/)|(?P<inner>/\*\*(?=/))|(?P<tail>/\*\*$)|(?P<star>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\])|\\(?P<quoted>.)|(?P<plain>.)"
)
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _translate(pattern: str) -> str:
    """A regular expression for a pattern with wildcards."""
    fixed = {"lead": "(?:.*/)?", "inner": "(?:/.*)?", "tail": "/.+", "star": "[^/]*", "one": "[^/]"}
    parts = []
    for match in re.finditer(_PIECE, pattern, re.DOTALL):
        kind = match.lastgroup or "plain"
        if kind == "set":
            parts.append(_translate_set(match.group()))
        else:
            parts.append(fixed.get(kind) or re.escape(match.group(kind)))
    return "(?s:" + "".join(parts) + r")\Z"


def _translate_set(text: str) -> str:
    body = text[1:-1]
    negated = body[:1] in ("!", "^")
    body = re.sub(
        r"\[:(\w+):\]|\\(.)|([\[\]\\^&~|])",
        lambda match: (
            _CLASSES.get(match[1], "") if match[1] else "\\" + (match[2] or match[3] or "")
        ),
        body[1:] if negated else body,
    )
    members = f"[{'^' if negated else ''}{body}]"
    try:
        re.compile(members)
    except re.error:
        return "(?!)"  # A range like [z-a] holds nothing.
    return f"(?!/){members}"
