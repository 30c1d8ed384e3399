"""Jupyter notebooks: the strings of code cells change in place, every other byte stays."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from reducer_migrate import fault
from reducer_migrate.diagnostic import Cell, Diagnostic, Edit, Position
from reducer_migrate.documents.json_text import JsonString, JsonText
from reducer_migrate.documents.masking import LostFillerError, Masked, mask_notebook
from reducer_migrate.documents.region import Document, Region, imports_compat
from reducer_migrate.names import names_reducer
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.report.model import position
from reducer_migrate.source import Source
from reducer_rules.notices import UNPARSABLE

_FORMAT = 4
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class CodeCell(Region):
    """One code cell: `number` counts every cell of the notebook from 1.

    `strings` hold its text in `file`; `separator` is what lies between two of them, None where
    the whole text is one string.
    """

    source: Source
    file: Source
    number: int
    strings: tuple[JsonString, ...]
    separator: str | None
    code: str
    masked: Masked

    def body(self, text: str) -> str:
        return text

    def locate(self, diagnostic: Diagnostic) -> Diagnostic:
        start, end = map(self._in_file, (diagnostic.start, diagnostic.end))
        line = diagnostic.source_line
        if self.masked.hidden and diagnostic.start.line <= len(self.source.line_starts):
            begin = self.source.line_starts[diagnostic.start.line - 1]
            line = self.code[begin : begin + len(line)]
        return replace(diagnostic, cell=Cell(self.number, start, end), source_line=line)

    def edit(self, edit: Edit) -> Edit:
        text = self.masked.restore(edit.start, edit.end, edit.text)
        if _SURROGATE.search(self.code, edit.start, edit.end):
            raise LostFillerError("half of a surrogate pair would be lost")
        start = self._place(edit.start)
        if edit.end < len(self.source.text):
            return Edit(start, self._place(edit.end), self._encode(text))
        end = self.strings[-1].end
        encoded = self._encode(text).removesuffix(self.separator or "\0")
        # No empty string stays behind where the last lines go.
        whole = (former.end for former, string in pairwise(self.strings) if string.start == start)
        return Edit(start if text else next(whole, start), end, encoded)

    def unparsable(self, error: UnparsableError) -> Diagnostic:
        said = f"the cell does not parse: {error}"
        found = fault.unparsable(self.source, error)
        return self.locate(replace(found, message=said))

    def _encode(self, text: str) -> str:
        """Text as it stands between the quotes, cut into strings after each line."""
        ascii_only = self.file.text.isascii()
        lines = (json.dumps(line, ensure_ascii=ascii_only)[1:-1] for line in text.split("\n"))
        return f"\\n{self.separator or ''}".join(lines)

    def _place(self, offset: int) -> int:
        """Where a character of the cell stands in the file; between strings, in the later one."""
        starts = [0]
        for string in self.strings[:-1]:
            starts.append(starts[-1] + len(string.value))
        index = bisect_right(starts, offset) - 1
        return self.strings[index].offsets[offset - starts[index]]

    def _in_file(self, place: Position) -> Position:
        starts = self.source.line_starts
        offset = starts[min(place.line, len(starts)) - 1] + place.column - 1
        return position(self.file, self._place(min(offset, len(self.source.text))))


def read(file: Source) -> Document:
    """The code cells of a notebook that name a reducer operation.

    A notebook that is broken, or of a format before 4, gives one fault and no cells. One whose
    language is not Python gives nothing.
    """
    try:
        text = JsonText(file.text)
    except json.JSONDecodeError as error:
        problem = f"the notebook is no JSON: {error.msg}"
        return Document(file, faults=(_broken(file, problem, error.lineno, error.colno),))
    except RecursionError:
        return Document(file, faults=(_broken(file, "the notebook is nested too deeply"),))
    problem = _problem(text.document)
    if problem:
        return Document(file, faults=(_broken(file, problem),))
    if not _language(text.document).endswith(("python", "python3")):
        return Document(file)
    cells = list(_cells(file, text))
    found = tuple(cell for cell in cells if names_reducer(cell.source.raw))
    return Document(file, found, (), any(imports_compat(cell.code) for cell in cells))


def _broken(file: Source, problem: str, line: int = 1, column: int = 1) -> Diagnostic:
    return replace(
        fault.diagnose(UNPARSABLE, file.path, problem, line=line, column=column),
        help="save the notebook with Jupyter; it is left as it is",
        source_line=file.line(min(line, len(file.line_starts))),
    )


def _problem(notebook: object) -> str:
    """What keeps decoded JSON from being a notebook; empty where nothing does."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        return "the file is no notebook: it has no `nbformat`"
    if notebook["nbformat"] != _FORMAT:
        return f"the notebook has format {notebook['nbformat']}, and only format 4 can be read"
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        return "the file is no notebook: it has no list of cells"
    for number, cell in enumerate(cells, 1):
        source = cell.get("source")
        lines = source if isinstance(source, list) else [source]
        if not all(isinstance(line, str) for line in lines):
            return f"the source of cell {number} is neither a string nor a list of strings"
    return ""


def _language(notebook: object) -> str:
    """The language of the cells, `python` where the notebook does not say."""
    metadata = notebook.get("metadata") if isinstance(notebook, dict) else None
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(part, dict) and isinstance(part.get(field), str):
            return str(part[field]).lower()
    return "python"


def _cells(file: Source, text: JsonText) -> Iterator[CodeCell]:
    places = dict(text.members(text.start))
    for number, start in enumerate(text.items(places["cells"]), 1):
        cell = dict(text.members(start))
        if "cell_type" in cell and text.string(cell["cell_type"]).value == "code":
            yield from _code_cell(file, text, number, cell["source"])


def _code_cell(file: Source, text: JsonText, number: int, place: int) -> Iterator[CodeCell]:
    """The cell whose source is at `place`; nothing where it is empty or no Python."""
    if file.text[place] == '"':
        strings: tuple[JsonString, ...] = (text.string(place),)
        separator = None
    else:
        strings = tuple(text.string(at) for at in text.items(place))
        separator = _separator(file.text, place, strings)
    code = "".join(string.value for string in strings)
    masked = mask_notebook(code)
    if not code or masked is None:
        return
    # Half of a surrogate pair stands for no character, so it cannot be in Python source.
    source = Source.of(_SURROGATE.sub("\ufffd", masked.text), file.path)
    yield CodeCell(source, file, number, strings, separator, code, masked)


def _separator(text: str, place: int, strings: tuple[JsonString, ...]) -> str | None:
    """What lies between the contents of two strings of a list, as the list is laid out."""
    if len(strings) > 1:
        return text[strings[0].end : strings[1].start]
    if strings:
        return '",' + text[place + 1 : strings[0].start]
    return None
