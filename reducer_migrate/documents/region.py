"""What every document is made of: its text, its regions, and the faults that were met."""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from reducer_migrate.diagnostic import Diagnostic, Edit
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.source import Source, UndecodableError

_IMPORTS_COMPAT = re.compile(r"^[ \t>]*(?:import|from)[ \t]+reducer_compat\b", re.MULTILINE)
_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Region(ABC):
    """A stretch of Python in a file, as the engine reads it.

    `source` carries the path of the file. It may hold fillers in place of what is no Python, and
    lines around the code that make it parse; `body` tells which part is the code.
    """

    source: Source

    @abstractmethod
    def body(self, text: str) -> str:
        """The code in `text`, which is `source.text` before or after a rewrite."""

    @abstractmethod
    def locate(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic, said of `source`, as it is said of the file."""

    @abstractmethod
    def edit(self, edit: Edit) -> Edit:
        """The edit of whole lines of `source.text` as an edit of the file's text."""

    @abstractmethod
    def unparsable(self, error: UnparsableError) -> Diagnostic:
        """What to say when the region does not parse."""

    @property
    def takes_import(self) -> bool:
        """Whether a statement can be added at the top level of the code."""
        first = next((s for s in self.body(self.source.text).splitlines() if s.strip()), "")
        return first[:1] not in (" ", "\t")


@dataclass(frozen=True, slots=True)
class Document:
    """One file with the regions that name a reducer operation, in order.

    `imports_compat` says that some region, one without reducers perhaps, imports the runtime.
    """

    source: Source
    regions: tuple[Region, ...] = ()
    faults: tuple[Diagnostic, ...] = ()
    imports_compat: bool = False


def decode(path: str, raw: bytes) -> Source:
    """A document's text. Both kinds are UTF-8, whatever their first lines seem to declare.

    Raises:
        UndecodableError: they are not.
    """
    bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    try:
        return Source(path, raw, raw[len(bom) :].decode(), "utf-8", bom)
    except UnicodeDecodeError as error:
        raise UndecodableError(str(error)) from error


def imports_compat(code: str) -> bool:
    """Whether Python source imports the runtime, judged by its lines: it need not parse."""
    return _IMPORTS_COMPAT.search(code) is not None


def hunks(old: str, new: str) -> Iterator[Edit]:
    """The edits of whole lines that make `new` of `old`."""
    import difflib

    before, after = _LINE.findall(old), _LINE.findall(new)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            text = "".join(after[new_start:new_end])
            yield Edit(starts[old_start], starts[old_end], text)
