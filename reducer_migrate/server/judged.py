"""One version of an open document: what was found in it, and the edits made on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from reducer_migrate import fault
from reducer_migrate import judge as plain
from reducer_migrate.diagnostic import Diagnostic, Group
from reducer_migrate.documents import is_document
from reducer_migrate.documents.judge import carry_out, judge, offers
from reducer_migrate.documents.region import hunks
from reducer_migrate.judge import Judgement, Policy
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.report.model import Offer, offer
from reducer_migrate.source import Source


@dataclass(frozen=True)
class Judged:
    """The findings of one version of a text.

    `offers` is the rewrite of each reducer that can be rewritten, `everything` all of them
    together, None where there are none. Here there are none of either.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...]

    @property
    def offers(self) -> dict[int, Offer]:
        return {}

    @property
    def everything(self) -> Offer | None:
        return None


@dataclass(frozen=True)
class JudgedFile(Judged):
    """The findings of a whole file."""

    judgement: Judgement
    policy: Policy

    @cached_property
    def offers(self) -> dict[int, Offer]:
        return offers(self.judgement, self.policy)

    @cached_property
    def everything(self) -> Offer | None:
        if not self.judgement.pending:
            return None
        done = carry_out(self.judgement, self.policy)
        made = list(hunks(self.source.text, done.text))
        return offer(self.source, Group(0, ""), made) if made else None


def judge_text(path: str, text: str, policy: Policy) -> Judged:
    """Judge the text of an editor, which is decoded whatever encoding it declares."""
    source = Source.of(text, path)
    try:
        if is_document(path):
            found = judge(path, source.raw, policy)
        else:
            found = plain.judge(source, policy)
    except UnparsableError as error:
        return Judged(source, (fault.unparsable(source, error),))
    return JudgedFile(source, found.reported, found, policy)
