"""A notebook as an editor holds it: every code cell a text of its own, judged together.

An import of the runtime in one cell counts for the others, and a baseline counts the findings of
the whole notebook, as they do for the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from reducer_migrate import fault
from reducer_migrate.diagnostic import Cell, Diagnostic, Edit, Group
from reducer_migrate.documents.judge import (
    Part,
    carry_out_part,
    judge_document,
    part_edits,
)
from reducer_migrate.documents.masking import Masked, mask_notebook
from reducer_migrate.documents.region import Document, Region, imports_compat
from reducer_migrate.judge import Policy
from reducer_migrate.names import names_reducer
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.report.model import Offer, offer
from reducer_migrate.server.judged import Judged
from reducer_migrate.source import Source


@dataclass(frozen=True)
class EditedCell(Region):
    """One code cell. `number` counts every cell of the notebook from 1; `code` has its magics."""

    source: Source
    number: int
    code: Source
    masked: Masked

    def body(self, text: str) -> str:
        return text

    def locate(self, diagnostic: Diagnostic) -> Diagnostic:
        line = self.code.line(min(diagnostic.start.line, len(self.code.line_starts)))
        cell = Cell(self.number, diagnostic.start, diagnostic.end)
        return replace(diagnostic, cell=cell, source_line=line)

    def edit(self, edit: Edit) -> Edit:
        return replace(edit, text=self.masked.restore(edit.start, edit.end, edit.text))

    def unparsable(self, error: UnparsableError) -> Diagnostic:
        said = f"the cell does not parse: {error}"
        return self.locate(replace(fault.unparsable(self.source, error), message=said))


@dataclass(frozen=True)
class JudgedCell(Judged):
    """The findings of one cell, and its part of the whole."""

    document: Document
    part: Part
    policy: Policy

    @cached_property
    def offers(self) -> dict[int, Offer]:
        pending = {self.part.first + g.ident: g for g in self.part.judgement.pending}
        return {
            ident: offer(self.source, replace(pending[ident], ident=ident), edits)
            for ident, edits in part_edits(self.document, self.part, self.policy).items()
        }

    @cached_property
    def everything(self) -> Offer | None:
        adds_import = self.policy.options.add_import and not self.document.imports_compat
        _, changes = carry_out_part(self.document, self.part, self.policy, adds_import)
        edits = [self.part.region.edit(change) for change in changes]
        return offer(self.source, Group(0, ""), edits) if edits else None


def judge_cells(path: str, cells: Mapping[int, str], policy: Policy) -> dict[int, Judged]:
    """Judge the code cells of the notebook at `path`, by their numbers, in order.

    Cells that name no reducer operation, or are no Python, are left out.
    """
    regions = {region.number: region for region in _regions(path, cells)}
    document = Document(
        Source.of("", path),
        tuple(regions.values()),
        imports_compat=any(map(imports_compat, cells.values())),
    )
    judgement = judge_document(document, policy)
    parts = {region: part for part in judgement.parts for region in _cells(part)}
    made: dict[int, Judged] = {}
    for number, region in regions.items():
        found = tuple(d for d in judgement.reported if d.cell and d.cell.number == number)
        if number in parts:
            made[number] = JudgedCell(region.code, found, document, parts[number], policy)
        else:
            made[number] = Judged(region.code, found)
    return made


def _regions(path: str, cells: Mapping[int, str]) -> Iterator[EditedCell]:
    for number, text in cells.items():
        # Half of a surrogate pair stands for no character, so it cannot be in Python source.
        raw = text.encode(errors="replace")
        text = raw.decode()
        masked = mask_notebook(text) if names_reducer(raw) else None
        if masked is not None:
            yield EditedCell(Source.of(masked.text, path), number, Source.of(text, path), masked)


def _cells(part: Part) -> Iterator[int]:
    if isinstance(part.region, EditedCell):
        yield part.region.number
