"""Judging and rewriting any file: Python itself, or a document with regions of it.

The functions are those of `reducer_migrate.judge`, and for Python source they are just these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from reducer_migrate import judge as plain
from reducer_migrate.diagnostic import Diagnostic, Edit, apply_edits
from reducer_migrate.documents import NOTEBOOK, is_document
from reducer_migrate.documents.region import Document, Region, decode, hunks
from reducer_migrate.engine import Analysis
from reducer_migrate.judge import Judgement, Policy, Rewritten
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.report.model import Offer, offer
from reducer_migrate.rewriting import rewrite
from reducer_migrate.source import Source
from reducer_migrate.triage import Triage, unfixable, withhold
from reducer_rules import Severity


class UnmappableError(ValueError):
    """A rewrite of a region cannot be carried back to the document."""


@dataclass(frozen=True, slots=True)
class Part:
    """A region and what was found in it; its groups count from `first` in the whole document."""

    region: Region
    judgement: Judgement
    first: int


@dataclass(frozen=True, slots=True)
class DocumentJudgement(Judgement):
    """What was found in all regions of a document, at places in the document."""

    document: Document
    parts: tuple[Part, ...]

    @property
    def failed(self) -> bool:
        """Whether some of it could not be dealt with."""
        return any(fault.severity is Severity.ERROR for fault in self.document.faults)


def judge(path: str, raw: bytes, policy: Policy) -> Judgement:
    """Find, and triage, what there is to say about the file `path` with the content `raw`.

    A notebook or a cell that cannot be read gives a finding (RM001), a fragment in Markdown a
    note (RM009); the other regions are judged all the same.

    Raises:
        UndecodableError: the bytes are no text.
        UnparsableError: a Python file does not parse.
    """
    if not is_document(path):
        return plain.judge(Source.read(path, raw), policy)
    return judge_document(_read(path, raw), policy)


def carry_out(judgement: Judgement, policy: Policy) -> Rewritten:
    """Apply the pending rewrites of a judgement made under the same policy.

    Raises:
        UnmappableError: the new document does not read back as what was meant to be written.
        LostFillerError: a line that is no Python would be lost.
    """
    if not isinstance(judgement, DocumentJudgement):
        return plain.carry_out(judgement, policy)
    edits: list[Edit] = []
    expected: list[str] = []
    done: list[tuple[Part, Rewritten]] = []
    adds_import = policy.options.add_import and not judgement.document.imports_compat
    for part in judgement.parts:
        result, changes = carry_out_part(judgement.document, part, policy, adds_import)
        adds_import = adds_import and not (changes and part.region.takes_import)
        done.append((part, result))
        edits += map(part.region.edit, changes)
        expected.append(part.region.body(_applied(part.region, changes)))
    text = apply_edits(judgement.source.text, tuple(edits))
    return _rewritten(judgement, policy, done, text, expected)


def carry_out_part(
    document: Document, part: Part, policy: Policy, adds_import: bool
) -> tuple[Rewritten, list[Edit]]:
    """The pending rewrites of one region, and the edits of its source that they come to.

    `adds_import` puts `import reducer_compat` in front, where the region takes one.
    """
    result = plain.carry_out(part.judgement, _region_policy(document, policy))
    changes = list(hunks(part.region.source.text, result.text))
    if changes and adds_import and part.region.takes_import:
        changes.insert(0, _import(part))
    return result, changes


def offers(judgement: Judgement, policy: Policy) -> dict[int, Offer]:
    """Each pending rewrite as a report carries it, where it passes the engine's checks."""
    if not isinstance(judgement, DocumentJudgement):
        return plain.offers(judgement, policy)
    pending = {group.ident: group for group in judgement.pending}
    return {
        ident: offer(judgement.source, pending[ident], edits)
        for part in judgement.parts
        for ident, edits in part_edits(judgement.document, part, policy).items()
    }


def part_edits(document: Document, part: Part, policy: Policy) -> dict[int, list[Edit]]:
    """The edits of the file for each pending rewrite of one region that passes its checks."""
    options = _region_policy(document, policy).options
    source = part.region.source
    made: dict[int, list[Edit]] = {}
    for group in part.judgement.pending:
        done = rewrite(source, part.judgement.found, options, {group.ident})
        edits = [part.region.edit(edit) for edit in hunks(source.text, done.text)]
        if edits:
            made[part.first + group.ident] = edits
    return made


def _read(path: str, raw: bytes) -> Document:
    file = decode(path, raw)
    if path.lower().endswith(NOTEBOOK):
        from reducer_migrate.documents import notebook

        return notebook.read(file)
    from reducer_migrate.documents import markdown

    return markdown.read(file)


def _region_policy(document: Document, policy: Policy) -> Policy:
    """How a region is judged: an import in any other one, or one still to be added, counts.

    The baseline counts equal findings of the whole file, so it is applied afterwards.
    """
    options = policy.options
    compat = options.target.compat or options.add_import or document.imports_compat
    target = replace(options.target, compat=compat)
    return replace(policy, options=replace(options, target=target, add_import=False), baseline=None)


def judge_document(document: Document, policy: Policy) -> DocumentJudgement:
    """Find, and triage, what there is to say about the regions of a document."""
    faults = list(document.faults)
    parts: list[Part] = []
    first = 0
    for region in document.regions:
        try:
            judgement = plain.judge(region.source, _region_policy(document, policy))
        except UnparsableError as error:
            faults.append(region.unparsable(error))
            continue
        parts.append(Part(region, judgement, first))
        first += len(judgement.found.plans)
    selected = [d for d in faults if policy.selection.selects(d.code, d.path)]
    merged = _merged(replace(document, faults=tuple(selected)), parts)
    return merged if policy.baseline is None else _against_baseline(merged, policy)


def _merged(document: Document, parts: list[Part]) -> DocumentJudgement:
    """The parts as one judgement, at places in the document."""
    triages = [part.judgement.triage for part in parts]
    reported = [_located(part, part.judgement.reported) for part in parts]
    found = [_located(part, part.judgement.found.diagnostics) for part in parts]
    groups = tuple(
        replace(group, ident=part.first + group.ident)
        for part in parts
        for group in part.judgement.pending
    )
    triage = Triage(
        Analysis(_ordered((*document.faults, *_flat(reported))), groups),
        _flat(_located(p, t.suppressed) for p, t in zip(parts, triages, strict=True)),
        _flat(_located(p, t.ignored) for p, t in zip(parts, triages, strict=True)),
        (),
    )
    analysis = Analysis(_ordered(_flat(found)), groups)
    return DocumentJudgement(document.source, analysis, triage, document, tuple(parts))


def _against_baseline(judgement: DocumentJudgement, policy: Policy) -> DocumentJudgement:
    assert policy.baseline is not None
    new, adopted = policy.baseline.split(judgement.reported)
    analysis = withhold(replace(judgement.triage.analysis, diagnostics=new), adopted)
    silent = {diagnostic.group for diagnostic in adopted} - {None}
    parts = tuple(_withheld(part, silent) for part in judgement.parts)
    triage = replace(judgement.triage, analysis=analysis, baselined=adopted)
    return replace(judgement, triage=triage, parts=parts)


def _withheld(part: Part, silent: set[int | None]) -> Part:
    """The part without the groups that are `silent` in the whole document."""
    triage = part.judgement.triage
    groups = tuple(g for g in triage.analysis.groups if part.first + g.ident not in silent)
    analysis = replace(triage.analysis, groups=groups)
    return replace(
        part, judgement=replace(part.judgement, triage=replace(triage, analysis=analysis))
    )


def _located(part: Part, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Diagnostics of a part, with their places and groups in the document."""
    return tuple(
        part.region.locate(d if d.group is None else replace(d, group=part.first + d.group))
        for d in diagnostics
    )


def _flat(parts: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic for part in parts for diagnostic in part)


def _ordered(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda d: (d.file_start, d.code, d.file_end, d.message)))


def _import(part: Part) -> Edit:
    from reducer_migrate.rewrite.edits import compat_import

    source = part.region.source
    edit = compat_import(source, part.judgement.found.tree)
    # Where no import comes first, that is the top of the source, which may lie before the code.
    start = max(edit.start, source.text.index(part.region.body(source.text)))
    return replace(edit, start=start, end=start)


def _applied(region: Region, changes: list[Edit]) -> str:
    return apply_edits(region.source.text, tuple(changes))


def _rewritten(
    judgement: DocumentJudgement,
    policy: Policy,
    done: list[tuple[Part, Rewritten]],
    text: str,
    expected: list[str],
) -> Rewritten:
    source = judgement.source
    fixed = _flat(_located(part, result.fixed) for part, result in done)
    notes = _flat(_located(part, result.notes) for part, result in done)
    abandoned = _flat(_located(part, result.failures) for part, result in done)
    groups = {part.first + ident for part, result in done for ident in result.abandoned}
    left = [d for d in judgement.reported if d not in fixed and d.group not in groups]
    before = _final(judgement, (*left, *abandoned))
    if text == source.text:
        return Rewritten(text, before, before)
    after = judge_document(_read(source.path, source.encode(text)), policy)
    bodies = [part.region.body(part.region.source.text) for part in after.parts]
    if bodies != expected:
        raise UnmappableError("the rewritten document does not read back as it was meant")
    if abandoned:
        after = _final(after, (*after.reported, *abandoned))
    reducers = sum(result.reducers for _, result in done)
    return Rewritten(text, before, after, fixed, notes, reducers)


def _final(judgement: DocumentJudgement, reported: Iterable[Diagnostic]) -> DocumentJudgement:
    """A judgement with nothing left to apply."""
    analysis = Analysis(_ordered(map(unfixable, reported)), ())
    return replace(judgement, triage=replace(judgement.triage, analysis=analysis), parts=())
