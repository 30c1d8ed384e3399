"""The notebooks that are open in the client: their cells and the texts of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lsprotocol import types

from reducer_migrate.judge import Policy
from reducer_migrate.server.cells import judge_cells
from reducer_migrate.server.convert import Converter
from reducer_migrate.server.judged import Judged
from reducer_migrate.source import Source


@dataclass
class Notebook:
    """One notebook. `texts`, `versions` and `languages` are by the URI of the cell.

    Clients send parts of a cell's text even to a server that asks for whole texts, since the
    protocol lets no server choose for notebooks.
    """

    path: str
    cells: list[types.NotebookCell]
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    _found: tuple[Policy | None, dict[str, Judged]] | None = None

    def judged(self, policy: Policy | None) -> dict[str, Judged]:
        """What is found in each cell, by its URI; nothing without a policy."""
        if self._found is None or self._found[0] != policy:
            self._found = policy, {} if policy is None else self._judge(policy)
        return self._found[1]

    def _judge(self, policy: Policy) -> dict[str, Judged]:
        numbers = {
            number: cell.document
            for number, cell in enumerate(self.cells, 1)
            if cell.kind is types.NotebookCellKind.Code
            and self.languages.get(cell.document) == "python"
        }
        texts = {number: self.texts[uri] for number, uri in numbers.items()}
        return {numbers[n]: found for n, found in judge_cells(self.path, texts, policy).items()}

    def add(self, texts: Iterable[types.TextDocumentItem]) -> None:
        """Take up the texts of cells."""
        for text in texts:
            self.texts[text.uri] = text.text
            self.versions[text.uri] = text.version
            self.languages[text.uri] = text.language_id
        self._found = None

    def change(
        self,
        change: types.NotebookDocumentChangeEvent,
        encoding: types.PositionEncodingKind | str | None,
    ) -> list[str]:
        """Follow a change; the cells that are gone."""
        gone: list[str] = []
        if change.cells is not None and change.cells.structure is not None:
            gone = self._restructure(change.cells.structure)
        for content in (change.cells and change.cells.text_content) or ():
            uri = content.document.uri
            for part in content.changes:
                self.texts[uri] = _changed(self.texts[uri], part, encoding)
            self.versions[uri] = content.document.version
        self._found = None
        return gone

    def _restructure(self, structure: types.NotebookDocumentCellChangeStructure) -> list[str]:
        array = structure.array
        end = array.start + array.delete_count
        self.cells[array.start : end] = array.cells or []
        self.add(structure.did_open or ())
        gone = [closed.uri for closed in structure.did_close or ()]
        for uri in gone:
            for held in (self.texts, self.versions, self.languages):
                held.pop(uri, None)
        return gone


def _changed(
    text: str,
    change: types.TextDocumentContentChangeEvent,
    encoding: types.PositionEncodingKind | str | None,
) -> str:
    """A text after one change, of a part or of the whole."""
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return change.text
    converter = Converter(Source.of(text), encoding)
    start, end = converter.offset(change.range.start), converter.offset(change.range.end)
    return text[:start] + change.text + text[end:]
