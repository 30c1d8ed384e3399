"""Carry out the actions of some plans on one top-level statement, with libcst.

libcst keeps the whitespace and comments of what it does not change. What changes is made by
`epochs` and `updates`, where it goes by `moves`; `comments` keeps what would be lost on the way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from reducer_migrate.rewrite.actions import (
    Action,
    CannotEditError,
    CloseEpoch,
    ConvertUpdate,
    Guard,
    Hoist,
    Key,
    OpenEpoch,
    RemoveInit,
    Rename,
    RewriteAlloc,
    RewriteUpdate,
)
from reducer_migrate.rewrite.calls import operation
from reducer_migrate.rewrite.comments import with_lost_comments
from reducer_migrate.rewrite.epochs import (
    after_allocation,
    as_spelled,
    close_epoch,
    open_epoch,
    without_replication,
)
from reducer_migrate.rewrite.moves import Moves
from reducer_migrate.rewrite.updates import convert, update

_StatementAction = (
    RewriteAlloc | OpenEpoch | RemoveInit | RewriteUpdate | ConvertUpdate | CloseEpoch
)
_Suite = TypeVar("_Suite", cst.SimpleStatementLine, cst.SimpleStatementSuite)


def transform(text: str, actions: Iterable[Action], indent: str | None = None) -> str:
    """The text of a statement after `actions`, whose keys count from the statement's line 1.

    Columns of keys count characters here. Line ends are `\\n`. New blocks are indented by
    `indent`, None for the indentation that the text begins with.

    Raises:
        CannotEditError: libcst cannot parse the statement, or an action found nothing to do.
    """
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise CannotEditError(f"libcst cannot parse the statement: {error.message}") from error
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    editor = _Editor(actions, indent)
    changed = wrapper.visit(editor)
    if editor.pending:
        raise CannotEditError(f"nothing found at {sorted(editor.pending)}")
    return changed.code


class _Editor(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, actions: Iterable[Action], indent: str | None) -> None:
        super().__init__()
        self._changes: dict[Key, _StatementAction] = {}
        self._renames: dict[Key, str] = {}
        hoists: dict[Key, Key] = {}
        guards: dict[Key, str] = {}
        for action in actions:
            if isinstance(action, Rename):
                self._renames[action.name] = action.result
            elif isinstance(action, Hoist):
                hoists[action.statement] = action.before
            elif isinstance(action, Guard):
                guards[action.statement] = action.test
            else:
                self._changes[action.statement] = action
        self._moves = Moves(hoists, guards, indent)
        self._done: set[Key] = set()
        self._keys = {*self._changes, *self._renames, *hoists, *guards}

    @property
    def pending(self) -> set[Key]:
        """The keys no node was found for."""
        return self._keys - self._done

    def _key(self, node: cst.CSTNode) -> Key:
        start = self.get_metadata(PositionProvider, node).start
        return Key(start.line, start.column)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        if not self._renames:
            return updated_node
        key = self._key(original_node)
        if key not in self._renames:
            return updated_node
        self._done.add(key)
        return updated_node.with_changes(value=self._renames[key])

    # One statement, in place

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        if isinstance(action, RewriteAlloc):
            return updated_node.with_changes(value=self._allocation(action, updated_node.value))
        if isinstance(action, RewriteUpdate):
            target = updated_node.targets[0].target
            return update(target, updated_node.value, action, updated_node.semicolon)
        return updated_node

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        if isinstance(action, RewriteAlloc) and updated_node.value is not None:
            return updated_node.with_changes(value=self._allocation(action, updated_node.value))
        return updated_node

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        if isinstance(action, RewriteUpdate):
            return update(updated_node.target, updated_node.value, action, updated_node.semicolon)
        return updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        call = updated_node.value
        if action is None or not isinstance(call, cst.Call):
            return updated_node
        if isinstance(action, OpenEpoch):
            call = open_epoch(call, action)
        elif isinstance(action, RemoveInit):
            call = operation(call, action.base, "reducer_init", call.args[:1])
        elif isinstance(action, ConvertUpdate):
            call = convert(call, action.rfc)
        elif isinstance(action, CloseEpoch):
            call = close_epoch(call, action.result)
        return updated_node.with_changes(value=call)

    def _allocation(self, action: RewriteAlloc, value: cst.BaseExpression) -> cst.BaseExpression:
        self._changes[action.statement] = as_spelled(action, value)
        return without_replication(value)

    def _take(self, node: cst.CSTNode) -> _StatementAction | None:
        key = self._key(node)
        action = self._changes.get(key)
        if action is not None:
            self._done.add(key)
        return action

    # The line or suite around it

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        alone = len(original_node.body) == 1
        key = self._key(original_node.body[0])
        action = self._changes.get(key)
        commented = updated_node.trailing_whitespace.comment is not None
        if alone and isinstance(action, RemoveInit) and not commented:
            self._moves.drop(updated_node)
            return updated_node
        if key in self._moves.hoists:
            self._claim(key, alone, "a statement to move shares its line")
            self._moves.hoist(key, updated_node)
            return cst.RemoveFromParent()
        lines = self._rewritten(original_node, updated_node)
        if key in self._moves.guards:
            self._claim(key, alone, "a statement to put under a condition shares its line")
            self._moves.guard(key, lines)
        return lines[0] if len(lines) == 1 else cst.FlattenSentinel(lines)

    def _claim(self, key: Key, alone: bool, otherwise: str) -> None:
        """Tick off the move of a statement that has a line to itself."""
        if not alone:
            raise CannotEditError(otherwise)
        self._done.add(key)

    def _rewritten(
        self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine
    ) -> list[cst.SimpleStatementLine]:
        """A line, and those that come after it, with the comments of what it was."""
        actions = [self._changes.get(self._key(part)) for part in original.body]
        if not any(actions):
            return [updated]
        if len(actions) == 1 and isinstance(actions[0], RewriteAlloc):
            added = [cst.SimpleStatementLine([each]) for each in after_allocation(actions[0])]
            return with_lost_comments(original, [updated, *added])
        return with_lost_comments(original, [self._with_additions(original, updated)])

    def leave_SimpleStatementSuite(
        self,
        original_node: cst.SimpleStatementSuite,
        updated_node: cst.SimpleStatementSuite,
    ) -> cst.BaseSuite:
        moved = {*self._moves.hoists, *self._moves.guards}
        if any(self._key(child) in moved for child in original_node.body):
            raise CannotEditError("a statement to move shares its line with its condition")
        return self._with_additions(original_node, updated_node)

    def _with_additions(self, original: _Suite, updated: _Suite) -> _Suite:
        """Allocations of results, for reducers allocated among others on one line."""
        body: list[cst.BaseSmallStatement] = []
        for before, after in zip(original.body, updated.body, strict=True):
            action = self._changes.get(self._key(before))
            if not isinstance(action, RewriteAlloc):
                body.append(after)
                continue
            added: list[cst.BaseSmallStatement] = after_allocation(action)
            if added:
                last = added[-1].with_changes(semicolon=after.semicolon)
                kept = after.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
                body += [kept, *added[:-1], last]
            else:
                body.append(after)
        return updated.with_changes(body=body)

    # Blocks

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        return self._after_hoisted(original_node, updated_node)

    def leave_Match(
        self, original_node: cst.Match, updated_node: cst.Match
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        return self._after_hoisted(original_node, updated_node)

    def _after_hoisted(
        self, original: cst.BaseStatement, updated: cst.BaseStatement
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        """A conditional behind the statements that were moved out of it."""
        hoisted = self._moves.hoisted(self._key(original)) if self._moves.hoists else []
        return cst.FlattenSentinel([*hoisted, updated]) if hoisted else updated

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        body = self._moves.arranged(updated_node.body)
        return updated_node.with_changes(body=body or [cst.SimpleStatementLine([cst.Pass()])])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        self._moves.finish()
        return updated_node.with_changes(body=self._moves.arranged(updated_node.body))
