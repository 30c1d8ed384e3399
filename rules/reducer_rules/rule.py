"""What a rule is: its documentation, its check over one timeline, and what it may say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from reducer_rules.release import NATIVE_V2, Release
from reducer_rules.timeline import Dialect, Event, Span, Timeline


class Severity(Enum):
    """How much a finding weighs; only errors fail a run by default."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Fix(Enum):
    """Whether a rewrite exists, and whether it keeps the meaning of the code."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Target:
    """What the code is judged against.

    `release` is None for "any release"; `compat` says that `reducer_compat` is imported;
    `dialect` is the v2 spelling that was asked for, None where either will do.
    """

    release: Release | None = None
    compat: bool = False
    dialect: Dialect | None = None

    @property
    def native_v2(self) -> bool:
        """Whether v2 statements compile: natively, through reducer_compat, or on "any"."""
        return self.compat or self.release is None or self.release >= NATIVE_V2


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says about one event.

    `message` says what is wrong, `help` what to do, `label` goes beside the caret.
    `blocks` refuses the rewrite of the whole reducer.
    """

    code: str
    severity: Severity
    span: Span
    message: str
    help: str
    event: int
    blocks: bool = False
    label: str = ""


class Rule(ABC):
    """One rule: a subclass in a module of its own under `reducer_rules.catalogue`.

    `valid` and `invalid` hold examples in Python source: bodies of a kernel, or whole modules.
    `explanation` gives the reason and its source (an issue number, or a release on which it was
    observed).
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    fix: ClassVar[Fix]
    summary: ClassVar[str]
    explanation: ClassVar[str]
    help: ClassVar[str]
    valid: ClassVar[tuple[str, ...]]
    invalid: ClassVar[tuple[str, ...]]
    #: Whether a finding refuses the rewrite of the reducer.
    blocks: ClassVar[bool] = False
    #: What the examples are judged against.
    example_target: ClassVar[Target] = Target()

    @abstractmethod
    def check(self, timeline: Timeline, target: Target) -> Iterator[Finding]:
        """Yield what this rule finds in one reducer's timeline."""

    def severity_on(self, target: Target) -> Severity:
        """The severity against one target; the class attribute unless a family says otherwise."""
        return self.severity

    def finding(
        self,
        event: Event,
        message: str,
        target: Target,
        *,
        help: str | None = None,
        label: str = "",
        span: Span | None = None,
    ) -> Finding:
        """A finding of this rule at `event`."""
        return Finding(
            code=self.code,
            severity=self.severity_on(target),
            span=span or event.span,
            message=message,
            help=help if help is not None else self.help,
            event=event.ident,
            blocks=self.blocks,
            label=label,
        )


class LegacyRule(Rule):
    """RM1xx: v1 surface. An error where v2 is native, a note where v2 is not available yet."""

    severity = Severity.ERROR
    fix = Fix.SAFE

    def severity_on(self, target: Target) -> Severity:
        return Severity.ERROR if target.native_v2 else Severity.NOTE


class SemanticRule(Rule):
    """RM2xx: a reducer that has no v2 equivalent as written. Refuses the rewrite."""

    severity = Severity.ERROR
    fix = Fix.NONE
    blocks = True


class ReleaseRule(Rule):
    """RM3xx: code known to compute wrong results on some releases.

    An error on an affected release without `reducer_compat`, a note on "any".
    `affected` holds the releases on which the fault was observed.
    """

    severity = Severity.ERROR
    fix = Fix.NONE
    affected: ClassVar[tuple[Release, ...]]

    def severity_on(self, target: Target) -> Severity:
        return Severity.NOTE if target.release is None else Severity.ERROR

    def judged_on(self, timeline: Timeline, target: Target) -> tuple[Release, ...]:
        """The affected releases that count for this reducer on `target`, oldest first.

        None with reducer_compat, which replaces the code in question; and v2 statements do not
        compile below 0.1.14 without it.
        """
        if target.compat:
            return ()
        oldest = NATIVE_V2 if timeline.needs_v2 else self.affected[0]
        return tuple(
            release
            for release in self.affected
            if target.release in (None, release) and release >= oldest
        )
