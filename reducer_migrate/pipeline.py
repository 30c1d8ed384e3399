"""One file that names a reducer operation: judged, and rewritten as the settings say.

Reached for such files only, so that a run over others never loads the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reducer_migrate import fault
from reducer_migrate.config import Config, ConfigError
from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.documents.judge import DocumentJudgement, carry_out, judge, offers
from reducer_migrate.engine import Options
from reducer_migrate.files.atomic import replace_content
from reducer_migrate.judge import Judgement, Policy
from reducer_migrate.parsing import UnparsableError
from reducer_migrate.release import Releases, Resolved, resolve
from reducer_migrate.report.model import Offer
from reducer_migrate.selection import Selection
from reducer_migrate.settings import Mode, Settings
from reducer_migrate.source import Source, UndecodableError
from reducer_rules import Target
from reducer_rules.timeline import Dialect

if TYPE_CHECKING:
    from reducer_migrate.baseline import Baseline

#: The formats that carry rewrites, which costs making them.
_WITH_FIXES = frozenset({"json", "sarif"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    `diagnostics` remain, `notes` say how something was rewritten and fail nothing.
    `new` differs from `old` where the file was, or would be, rewritten. `rewritten` counts the
    reducers concerned; under `--check` no new text is made and it counts what an edit is
    pending for. `suppressed` counts findings that a comment silences, `adopted` holds those of
    the baseline. `judged` names the release, `failed` says that the file itself could not be
    dealt with.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    old: bytes = b""
    new: bytes = b""
    rewritten: int = 0
    offers: Mapping[int, Offer] = field(default_factory=dict)
    suppressed: int = 0
    adopted: tuple[Diagnostic, ...] = ()
    judged: str = ""
    problems: tuple[str, ...] = ()
    failed: bool = False

    @property
    def edited(self) -> bool:
        """Whether an edit was made or is pending."""
        return self.rewritten > 0 or self.old != self.new


class Pipeline:
    """Judges one file after the other under the same settings."""

    def __init__(self, settings: Settings, baseline: Baseline | None = None) -> None:
        self._settings = settings
        self._baseline = baseline
        self._releases = Releases(settings.options.tilelang)
        self._selections: dict[Config, Selection] = {}

    def process(self, path: str, raw: bytes, shown: str | None = None) -> Outcome | None:
        """Judge `raw`, the content of `path`, and store the rewrite where that is asked for.

        None where the configuration excludes the file. `shown` is the path in messages; a file
        without a path of its own is never stored.

        Raises:
            ConfigError: the configuration of the file cannot be used.
        """
        name = path if shown is None else shown
        try:
            config = self._settings.config_of(path)
            if config.excludes(path):
                return None
            known = len(self._releases.problems)
            resolved = self._releases.of(path, _configured(config))
            outcome = self._judge(name, raw, config, resolved, stored=shown is None)
            problems = tuple(self._releases.problems[known:])
            return replace(outcome, judged=str(resolved), problems=problems)
        except ConfigError:
            raise
        except UnparsableError as error:
            return _failed(name, raw, fault.unparsable(Source.read(name, raw), error))
        except UndecodableError as error:
            return _failed(name, raw, fault.undecodable(name, error))
        except Exception as error:
            if self._settings.debug:
                import traceback

                traceback.print_exc()
            return _failed(name, raw, fault.internal(name, error))

    def policy_of(self, path: str) -> Policy | None:
        """How the file at `path` is judged, without the baseline; None where it is excluded.

        Raises:
            ConfigError: its configuration cannot be used.
        """
        config = self._settings.config_of(path)
        if config.excludes(path):
            return None
        return self._policy(config, self._releases.of(path, _configured(config)))

    def _judge(
        self, path: str, raw: bytes, config: Config, resolved: Resolved, *, stored: bool
    ) -> Outcome:
        mode = self._settings.mode
        policy = self._policy(config, resolved)
        judgement = judge(path, raw, policy)
        if mode is Mode.CHECK or not judgement.pending:
            wanted = self._settings.options.output_format in _WITH_FIXES
            offered = offers(judgement, policy) if wanted else {}
            pending = len(judgement.pending)
            return replace(_outcome(judgement, raw, raw), rewritten=pending, offers=offered)
        done = carry_out(judgement, policy)
        new = judgement.source.encode(done.text)
        if mode is Mode.WRITE and stored and new != raw:
            try:
                replace_content(path, raw, new)
            except OSError as error:
                return _unwritable(_outcome(done.before, raw, raw), error)
        final = done.before if mode is Mode.DIFF else done.after
        return replace(_outcome(final, raw, new), notes=done.notes, rewritten=done.reducers)

    def _policy(self, config: Config, resolved: Resolved) -> Policy:
        dialect = Dialect(config.dialect) if config.dialect else None
        options = Options(
            target=Target(resolved.release, dialect=dialect),
            add_import=bool(config.with_compat),
            unsafe=bool(config.unsafe_fixes),
            lint=self._settings.mode is Mode.CHECK,
            siblings=True,
        )
        return Policy(options, self._selection(config), self._baseline)

    def _selection(self, config: Config) -> Selection:
        if config not in self._selections:
            self._selections[config] = Selection.of(
                config.select, config.ignore or (), config.extend_select, config.per_file_ignores
            )
        return self._selections[config]


def _configured(config: Config) -> Resolved | None:
    if config.tilelang is None:
        return None
    return resolve(config.tilelang, config.place or "the configuration")


def _outcome(judgement: Judgement, old: bytes, new: bytes) -> Outcome:
    triage = judgement.triage
    return Outcome(
        judgement.source.path,
        judgement.reported,
        old=old,
        new=new,
        suppressed=len(triage.suppressed),
        adopted=triage.baselined,
        failed=isinstance(judgement, DocumentJudgement) and judgement.failed,
    )


def _failed(path: str, raw: bytes, diagnostic: Diagnostic) -> Outcome:
    return Outcome(path, (diagnostic,), old=raw, new=raw, failed=True)


def _unwritable(outcome: Outcome, error: OSError) -> Outcome:
    """The file keeps its old content and its findings."""
    diagnostic = fault.unwritable(outcome.path, error)
    return replace(outcome, diagnostics=(diagnostic, *outcome.diagnostics), failed=True)
