"""Statements that leave their place: dropped, hoisted out of a conditional, put under a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import libcst as cst

from reducer_migrate.rewrite.actions import CannotEditError, Key


class Moves:
    """Takes note of lines while their block is visited, and arranges the block after it.

    `hoists` maps a statement to the conditional to put it in front of, `guards` a statement to
    the test to put it under. New blocks are indented by `indent`, None for the usual indentation.
    """

    def __init__(
        self, hoists: Mapping[Key, Key], guards: Mapping[Key, str], indent: str | None
    ) -> None:
        self.hoists = hoists
        self.guards = guards
        self._indent = indent
        self._hoisted: dict[Key, list[cst.BaseStatement]] = {}
        # By identity; the lines are kept, so that no other one gets theirs.
        self._guarded: dict[int, tuple[cst.BaseStatement, str]] = {}
        self._dropped: dict[int, cst.SimpleStatementLine] = {}

    def drop(self, line: cst.SimpleStatementLine) -> None:
        """Leave a line out of its block."""
        self._dropped[id(line)] = line

    def hoist(self, key: Key, line: cst.SimpleStatementLine) -> None:
        """Keep a line for the conditional that it belongs in front of."""
        self._hoisted.setdefault(self.hoists[key], []).append(line)

    def guard(self, key: Key, lines: Sequence[cst.SimpleStatementLine]) -> None:
        """Put lines that were one statement under its test."""
        for line in lines:
            self._guarded[id(line)] = (line, self.guards[key])

    def hoisted(self, conditional: Key) -> list[cst.BaseStatement]:
        """The lines to put in front of a conditional."""
        return self._hoisted.pop(conditional, [])

    def finish(self) -> None:
        """Check that every hoisted line found its conditional."""
        if self._hoisted:
            raise CannotEditError("the conditional to move a statement out of was not found")

    def arranged(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """The lines of a block after all that was noted about them."""
        return self._under_guards(self._without_dropped(body))

    def _without_dropped(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """The comments in front of a dropped line stay, on the next one."""
        out: list[cst.BaseStatement] = []
        waiting: list[cst.EmptyLine] = []
        for line in body:
            if id(line) in self._dropped:
                waiting += self._dropped[id(line)].leading_lines
                continue
            if any(empty.comment is not None for empty in waiting):
                own = cast(cst.SimpleStatementLine, line).leading_lines
                line = line.with_changes(leading_lines=[*waiting, *own])
            waiting = []
            out.append(line)
        return out

    def _under_guards(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """Runs of lines with the same test go under one `if`."""
        out: list[cst.BaseStatement] = []
        run: list[cst.BaseStatement] = []
        test = ""
        for line in [*body, None]:
            _, wanted = self._guarded.get(id(line), (None, ""))
            if run and wanted != test:
                out.append(_if(test, run, self._indent))
                run = []
            test = wanted
            if line is not None:
                (run if wanted else out).append(line)
        return out


def _if(test: str, body: list[cst.BaseStatement], indent: str | None) -> cst.If:
    first = cast(cst.SimpleStatementLine, body[0])
    lines = [first.with_changes(leading_lines=()), *body[1:]]
    return cst.If(
        cst.parse_expression(test),
        cst.IndentedBlock(lines, indent=indent),
        leading_lines=first.leading_lines,
    )
