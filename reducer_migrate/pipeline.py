"""One file that names a reducer operation: judged, and rewritten as the settings say.

Reached for such files only, so that a run over others never loads the engine.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from reducer_migrate import engine, fault
from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.files.atomic import replace_content
from reducer_migrate.release import Releases
from reducer_migrate.settings import Mode, Settings
from reducer_migrate.source import Source, UndecodableError
from reducer_rules import Release, Target
from reducer_rules.timeline import Dialect


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    `diagnostics` remain, `notes` say how something was rewritten and fail nothing.
    `new` differs from `old` where the file was, or would be, rewritten. `rewritten` counts the
    reducers concerned; under `--check` no new text is made and it counts what an edit is
    pending for. `failed` says that the file itself could not be dealt with.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    old: bytes = b""
    new: bytes = b""
    rewritten: int = 0
    failed: bool = False

    @property
    def edited(self) -> bool:
        """Whether an edit was made or is pending."""
        return self.rewritten > 0 or self.old != self.new


class Pipeline:
    """Judges one file after the other under the same settings.

    `sources` holds the releases that files were judged against, in words and in order.
    """

    def __init__(self, settings: Settings) -> None:
        """Read the options that can be wrong.

        Raises:
            ValueError: the release asked for is no release.
        """
        self._settings = settings
        self._dialect = Dialect(settings.dialect) if settings.dialect else None
        self.releases = Releases(settings.tilelang)
        self.sources: dict[str, None] = {}

    def process(self, path: str, raw: bytes, shown: str | None = None) -> Outcome:
        """Judge `raw`, the content of `path`, and store the rewrite where that is asked for.

        `shown` is the path in messages; a file without a path of its own is never stored.
        """
        name = path if shown is None else shown
        try:
            resolved = self.releases.of(path)
            self.sources[str(resolved)] = None
            outcome = self._judge(name, raw, resolved.release)
        except engine.UnparsableError as error:
            return _failed(name, raw, fault.unparsable(name, raw, error))
        except UndecodableError as error:
            return _failed(name, raw, fault.undecodable(name, error))
        except Exception as error:
            self._trace()
            return _failed(name, raw, fault.internal(name, error))
        if self._settings.mode is Mode.WRITE and shown is None:
            return _store(outcome)
        return outcome

    def _judge(self, path: str, raw: bytes, release: Release | None) -> Outcome:
        settings = self._settings
        source = Source.read(path, raw)
        options = engine.Options(
            target=Target(release, dialect=self._dialect),
            add_import=settings.with_compat,
            unsafe=settings.unsafe_fixes,
            lint=settings.mode is Mode.CHECK,
        )
        analysis = engine.analyse(source, options)
        pending = len(analysis.groups)
        if settings.mode is Mode.CHECK or not pending:
            return Outcome(path, analysis.diagnostics, (), raw, raw, pending)
        result = engine.rewrite(source, analysis, options)
        new = source.encode(result.text)
        return Outcome(path, result.remaining, result.notes, raw, new, result.reducers)

    def _trace(self) -> None:
        if self._settings.debug:
            traceback.print_exc()


def _failed(path: str, raw: bytes, diagnostic: Diagnostic) -> Outcome:
    return Outcome(path, (diagnostic,), (), raw, raw, failed=True)


def _store(outcome: Outcome) -> Outcome:
    """Write the new content; on failure the file keeps the old one and the outcome says so."""
    if outcome.new == outcome.old:
        return outcome
    try:
        replace_content(outcome.path, outcome.old, outcome.new)
    except OSError as error:
        diagnostic = fault.unwritable(outcome.path, error)
        return replace(
            outcome,
            diagnostics=(diagnostic, *outcome.diagnostics),
            notes=(),
            new=outcome.old,
            rewritten=0,
            failed=True,
        )
    return outcome
