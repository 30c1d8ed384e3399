"""Markdown: the Python in fenced code blocks, also in lists and quotes, also mere fragments.

A block is read at its place: what stands before it becomes blank lines of the same length, the
marks of a quote become spaces, and the engine reads code indented as a whole. So positions are
those of the file, and only new lines need the marks again.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from reducer_migrate import fault
from reducer_migrate.diagnostic import Diagnostic, Edit, Position
from reducer_migrate.documents.masking import Masked, mask_fragment, mask_notebook
from reducer_migrate.documents.region import Document, Region, imports_compat
from reducer_migrate.names import names_reducer
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.source import Source
from reducer_rules.notices import UNREAD_FRAGMENT

_LANGUAGES = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3"})
#: A fence with what may stand before it: indentation, marks of quotes, and list markers.
_FENCE = re.compile(
    r"(?P<prefix>(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*)"
    r"(?P<fence>`{3,}(?![^\r\n]*`)|~{3,})[ \t]*(?P<info>[^\r\n]*)"
)
_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_WORD = re.compile(r"[\w.+#-]+")
_MARK = re.compile(r"[ \t]*>")
_HEADER = re.compile(r"(?P<indent>[ \t]*)\S.*:[ \t]*(?:#.*)?")


@dataclass(frozen=True)
class Block(Region):
    """One fenced block. The engine reads `source`, whose code is that of the file's `[start, end)`.

    `marks` holds the columns, from 0, of the `>` before each line of code.
    """

    source: Source
    file: Source
    start: int
    end: int
    marks: tuple[int, ...]
    masked: Masked

    def body(self, text: str) -> str:
        added = len(self.source.text) - self.end
        return text[self.start : len(text) - added]

    def locate(self, diagnostic: Diagnostic) -> Diagnostic:
        lines = len(self.file.line_starts)
        return replace(diagnostic, source_line=self.file.line(min(diagnostic.start.line, lines)))

    def edit(self, edit: Edit) -> Edit:
        text = self.masked.restore(edit.start - self.start, edit.end - self.start, edit.text)
        quoted = "".join(self._quote(line) for line in _LINE.findall(text))
        return Edit(max(edit.start, self.start), max(min(edit.end, self.end), self.start), quoted)

    def unparsable(self, error: UnparsableError) -> Diagnostic:
        line = min(max(error.line, 1), len(self.file.line_starts))
        place = Position(line, max(error.column, 1))
        said = fault.diagnose(
            UNREAD_FRAGMENT,
            self.file.path,
            f"this block is not read, because it does not parse: {error}",
            line=place.line,
            column=place.column,
        )
        return replace(said, source_line=self.file.line(line))

    def _quote(self, line: str) -> str:
        """A new line with the marks of the quote that the block lies in."""
        if not self.marks:
            return line
        code = line.rstrip("\r\n")
        padded = list(code.ljust(self.marks[-1] + 1))
        for column in self.marks:
            padded[column] = ">"
        return "".join(padded) + line[len(code) :]


def read(file: Source) -> Document:
    """The fenced Python blocks that name a reducer operation."""
    blocks = list(_blocks(file.text))
    found = tuple(
        _region(file, block)
        for block in blocks
        if names_reducer(file.text[block.start : block.end].encode(errors="replace"))
    )
    compat = any(imports_compat(file.text[block.start : block.end]) for block in blocks)
    return Document(file, found, (), compat)


@dataclass(frozen=True, slots=True)
class _Fenced:
    """The lines between two fences, and how many quotes they lie in."""

    start: int
    end: int
    quotes: int


def _blocks(text: str) -> Iterator[_Fenced]:
    """The Python blocks, in order. One without a closing fence ends with its quote or the file."""
    opened: re.Match[str] | None = None
    start = quotes = position = 0
    for line in _LINE.findall(text):
        after = position + len(line)
        if opened is None:
            opened = _FENCE.match(line)
            if opened is not None:
                start, quotes = after, opened["prefix"].count(">")
        elif _closes(line, opened["fence"], quotes):
            if _is_python(opened["info"]):
                yield _Fenced(start, position, quotes)
            opened = None
        position = after
    if opened is not None and _is_python(opened["info"]):
        yield _Fenced(start, position, quotes)


def _closes(line: str, fence: str, quotes: int) -> bool:
    """Whether a line ends the block: by a fence as long as the first, or outside its quote."""
    content = line
    for _ in range(quotes):
        mark = _MARK.match(content)
        if mark is None:
            return True
        content = content[mark.end() :]
    content = content.strip()
    return len(content) >= len(fence) and not content.strip(fence[0])


def _is_python(info: str) -> bool:
    """Whether an info string names Python: `python`, `py title="x"`, `{.python}`, `{code-cell}`."""
    words = [word.lower().lstrip(".") for word in _WORD.findall(info)]
    if not words:
        return False
    directive = info.startswith("{") and words[0] in ("code-cell", "code-block", "code")
    return words[0] in _LANGUAGES or (directive and words[1:2] != [] and words[1] in _LANGUAGES)


def _region(file: Source, block: _Fenced) -> Block:
    """The block as the engine can read it, if there is a way."""
    code = file.text[block.start : block.end]
    lines = _LINE.findall(code)
    marks = _marks(lines[0], block.quotes) if lines else ()
    bare = "".join(_unquote(line, block.quotes) for line in lines)
    head = re.sub(r"[^\r\n]", " ", file.text[: block.start])
    readings = [Masked(bare), mask_fragment(bare), mask_notebook(bare) or Masked(bare)]
    masked, tail = next(
        ((m, tail) for m in readings for tail in ("", _missing_body(m.text)) if _parses(m, tail)),
        (readings[0], ""),
    )
    text = head + masked.text + tail
    # Built by hand: a comment on the first lines of a block is no encoding declaration.
    source = Source(file.path, text.encode(errors="replace"), text, "utf-8")
    return Block(source, file, block.start, block.end, marks, masked)


def _marks(line: str, quotes: int) -> tuple[int, ...]:
    """The columns of the first `quotes` marks of a line."""
    columns: list[int] = []
    for _ in range(quotes):
        columns.append(line.index(">", columns[-1] + 1 if columns else 0))
    return tuple(columns)


def _unquote(line: str, quotes: int) -> str:
    return line.replace(">", " ", quotes)


def _missing_body(text: str) -> str:
    """A body for a header that ends a fragment: `for k in T.serial(4):`."""
    lines = [line for line in text.splitlines() if line.strip() and line.strip()[0] != "#"]
    header = _HEADER.fullmatch(lines[-1]) if lines else None
    if header is None:
        return ""
    return ("" if text.endswith(("\n", "\r")) else "\n") + header["indent"] + "    pass\n"


def _parses(masked: Masked, tail: str) -> bool:
    text = masked.text + tail
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for candidate in (text, f"if True:\n{text}"):
            try:
                ast.parse(candidate)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            return True
    return False
