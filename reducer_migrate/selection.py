"""Which codes are reported where: select, ignore, extend-select and per-file ignores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reducer_migrate.documentation import resolve_selector
from reducer_migrate.globs import Globs
from reducer_rules.notices import FILE_ERRORS


@dataclass(frozen=True, slots=True)
class Selection:
    """Selectors resolved to code prefixes; `""` selects every code.

    The longest prefix that fits a code decides, as in ruff; an ignore wins a tie. Per-file
    ignores are absolute: no selector takes a code back.
    """

    selected: tuple[str, ...] = ("",)
    ignored: tuple[str, ...] = ()
    per_file: tuple[tuple[Globs, tuple[str, ...]], ...] = ()

    @classmethod
    def of(
        cls,
        select: Iterable[str] | None = None,
        ignore: Iterable[str] = (),
        extend_select: Iterable[str] = (),
        per_file_ignores: Iterable[tuple[Globs, tuple[str, ...]]] = (),
    ) -> Selection:
        """Resolve selectors: codes, prefixes (`RM2`), kebab-case names, or `ALL`.

        Raises:
            UnknownCodeError: a selector names nothing.
        """
        chosen = ("ALL",) if select is None else select
        return cls(
            tuple(resolve_selector(text) for text in (*chosen, *extend_select)),
            tuple(resolve_selector(text) for text in ignore),
            tuple(
                (globs, tuple(resolve_selector(text) for text in texts))
                for globs, texts in per_file_ignores
            ),
        )

    def selects(self, code: str, path: str) -> bool:
        """Whether `code` is reported in the file at `path`. Trouble with a file always is."""
        if code in FILE_ERRORS:
            return True
        if _longest(self.selected, code) <= _longest(self.ignored, code):
            return False
        return not any(
            code.startswith(prefixes) and globs.match(path) for globs, prefixes in self.per_file
        )


def _longest(prefixes: tuple[str, ...], code: str) -> int:
    """The length of the longest prefix that fits, -1 where none does."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)
