"""From one source to its diagnostics and edits, and from edits to new text."""

from __future__ import annotations

from dataclasses import dataclass

from reducer_rules import Target

from reducer_migrate.diagnostic import Diagnostic, Group
from reducer_migrate.names import names_reducer as names_reducer
from reducer_migrate.source import Source


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge and rewrite; `add_import` writes `import reducer_compat` where it rewrites."""

    target: Target = Target()  # noqa: RUF009 -- Target is frozen
    add_import: bool = False
    unsafe: bool = False


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found in one file, in order of position, and the edits that would resolve it."""

    diagnostics: tuple[Diagnostic, ...] = ()
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The text after rewriting, what remains to be said of it, and what was rewritten.

    `text` equals the source's text where nothing changed; `fixed` holds the diagnostics that
    the applied groups resolved.
    """

    text: str
    remaining: tuple[Diagnostic, ...]
    fixed: tuple[Diagnostic, ...]


class UnparsableError(ValueError):
    """The file names a reducer operation and does not parse."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def analyse(source: Source, options: Options) -> Analysis:
    """Find everything the rules say about `source`. Writes nothing; loads no libcst.

    Raises:
        UnparsableError: the source does not parse.
    """
    raise NotImplementedError


def rewrite(source: Source, analysis: Analysis, options: Options) -> Rewrite:
    """Apply the groups of `analysis` that `options` allows.

    The result was parsed again, holds the comments of the original, and analysing it finds
    nothing more to rewrite; where one of these fails the text stays and a diagnostic says so.
    """
    raise NotImplementedError
