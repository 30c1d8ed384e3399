"""What the engine says: diagnostics with positions, and edits grouped by reducer."""

from __future__ import annotations

from dataclasses import dataclass

from reducer_rules import Fix, Severity


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file; line and column count from 1, the column in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the characters `[start, end)` of the decoded text by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """The rewrite of a reducer: all of its edits are applied, or none is.

    So are those of all `reducers` that are passed to a macro which changes with them.
    `Analysis.edits` makes the edits of some groups together, since two reducers may share a line.
    """

    ident: int
    reducer: str
    fix: Fix = Fix.SAFE
    reducers: int = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """The notebook cell that a diagnostic lies in, and where that is in the notebook's text.

    `number` counts every cell from 1.
    """

    number: int
    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding in one file.

    `start` and `end` are places in the file or, where `cell` is given, in that cell.
    `group` is the ident of the `Group` that resolves it, None where nothing does.
    `source_line` is the text of the line `start` lies on, `statement` the (first, last) line of
    the statement it belongs to.
    """

    path: str
    code: str
    name: str
    severity: Severity
    message: str
    help: str
    start: Position
    end: Position
    source_line: str = ""
    label: str = ""
    reducer: str = ""
    statement: tuple[int, int] = (0, 0)
    fix: Fix = Fix.NONE
    group: int | None = None
    cell: Cell | None = None

    @property
    def place(self) -> str:
        """Where a reader finds it: `12:5`, or `cell 3:2:5` in a notebook."""
        place = f"{self.start.line}:{self.start.column}"
        return place if self.cell is None else f"cell {self.cell.number}:{place}"

    @property
    def file_start(self) -> Position:
        """`start` as a place in the file's own text, for programs that read that."""
        return self.start if self.cell is None else self.cell.start

    @property
    def file_end(self) -> Position:
        """`end` as a place in the file's own text."""
        return self.end if self.cell is None else self.cell.end


def apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    """Apply edits that do not overlap.

    Raises:
        ValueError: two edits overlap.
    """
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        if edit.start < position:
            raise ValueError(f"overlapping edits at character {edit.start}")
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)
