"""Carry out the actions of some plans on one top-level statement, with libcst.

libcst keeps the whitespace and comments of what it does not change; this module sees to it that
comments survive the rest as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from reducer_migrate.rewrite.actions import (
    Action,
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

_StatementAction = (
    RewriteAlloc | OpenEpoch | RemoveInit | RewriteUpdate | ConvertUpdate | CloseEpoch
)
_Suite = TypeVar("_Suite", cst.SimpleStatementLine, cst.SimpleStatementSuite)
#: Expressions that need parentheses as an argument of their own.
_LOOSE = (cst.GeneratorExp, cst.NamedExpr, cst.Tuple, cst.Yield)
#: Expressions that a unary minus binds to without parentheses.
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)


class CannotEditError(Exception):
    """An action did not find the syntax it was made for."""


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
        self._indent = indent
        self._changes: dict[Key, _StatementAction] = {}
        self._renames: dict[Key, str] = {}
        self._hoists: dict[Key, Key] = {}
        self._guards: dict[Key, str] = {}
        for action in actions:
            if isinstance(action, Rename):
                self._renames[action.name] = action.result
            elif isinstance(action, Hoist):
                self._hoists[action.statement] = action.before
            elif isinstance(action, Guard):
                self._guards[action.statement] = action.test
            else:
                self._changes[action.statement] = action
        self._moved: dict[Key, list[cst.BaseStatement]] = {}
        self._guarded: dict[int, tuple[cst.BaseStatement, str]] = {}
        self._removed: dict[int, cst.SimpleStatementLine] = {}
        self._done: set[Key] = set()
        self._keys = {*self._changes, *self._renames, *self._hoists, *self._guards}

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
            self._note(action, updated_node.value)
            return updated_node.with_changes(value=_without_replication(updated_node.value))
        if isinstance(action, RewriteUpdate):
            target = updated_node.targets[0].target
            return _update(target, updated_node.value, action, updated_node.semicolon)
        return updated_node

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        if isinstance(action, RewriteAlloc) and updated_node.value is not None:
            self._note(action, updated_node.value)
            return updated_node.with_changes(value=_without_replication(updated_node.value))
        return updated_node

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        if isinstance(action, RewriteUpdate):
            return _update(updated_node.target, updated_node.value, action, updated_node.semicolon)
        return updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.BaseSmallStatement:
        action = self._take(original_node)
        call = updated_node.value
        if action is None or not isinstance(call, cst.Call):
            return updated_node
        if isinstance(action, OpenEpoch):
            call = _open(call, action)
        elif isinstance(action, RemoveInit):
            call = _called(call, "reducer_init", call.args[:1])
        elif isinstance(action, ConvertUpdate):
            call = _convert(call, action.rfc)
        elif isinstance(action, CloseEpoch):
            call = _close(call, action.result)
        return updated_node.with_changes(value=call)

    def _note(self, action: RewriteAlloc, value: cst.BaseExpression) -> None:
        """Keep the spelling of the shape and dtype for the result, unless it spans lines."""
        if isinstance(value, cst.Call):
            shape = _spelled(value, 0, "shape", action.shape)
            dtype = _spelled(value, 1, "dtype", action.dtype)
            self._changes[action.statement] = action._replace(shape=shape, dtype=dtype)

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
        if alone and isinstance(action, RemoveInit) and not _ends_in_comment(updated_node):
            self._removed[id(updated_node)] = updated_node
            return updated_node
        if key in self._hoists:
            return self._hoist(key, updated_node, alone)
        lines = [updated_node]
        if alone and isinstance(action, RewriteAlloc):
            lines += [cst.SimpleStatementLine([added]) for added in _additions(action)]
        else:
            lines = [self._with_additions(original_node, updated_node)]
        if any(self._key(part) in self._changes for part in original_node.body):
            lines = _with_lost_comments(original_node, lines)
        if key in self._guards:
            if not alone:
                raise CannotEditError("a statement to put under a condition shares its line")
            self._done.add(key)
            for line in lines:
                self._guarded[id(line)] = (line, self._guards[key])
        return lines[0] if len(lines) == 1 else cst.FlattenSentinel(lines)

    def _hoist(self, key: Key, node: cst.SimpleStatementLine, alone: bool) -> cst.RemovalSentinel:
        if not alone:
            raise CannotEditError("a statement to move shares its line")
        self._done.add(key)
        self._moved.setdefault(self._hoists[key], []).append(node)
        return cst.RemoveFromParent()

    def leave_SimpleStatementSuite(
        self,
        original_node: cst.SimpleStatementSuite,
        updated_node: cst.SimpleStatementSuite,
    ) -> cst.BaseSuite:
        if any(self._key(child) in {*self._hoists, *self._guards} for child in original_node.body):
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
            additions: list[cst.BaseSmallStatement] = _additions(action)
            if additions:
                last = additions[-1].with_changes(semicolon=after.semicolon)
                kept = after.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
                body += [kept, *additions[:-1], last]
            else:
                body.append(after)
        return updated.with_changes(body=body)

    # Blocks

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        return self._after_moved(original_node, updated_node)

    def leave_Match(
        self, original_node: cst.Match, updated_node: cst.Match
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        return self._after_moved(original_node, updated_node)

    def _after_moved(
        self, original: cst.BaseStatement, updated: cst.BaseStatement
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        """A conditional behind the statements that were moved out of it."""
        moved = self._moved.pop(self._key(original), None) if self._moved else None
        return updated if moved is None else cst.FlattenSentinel([*moved, updated])

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        body = self._guard(self._remove(updated_node.body)) or [_pass()]
        return updated_node.with_changes(body=body)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        if self._moved:
            raise CannotEditError("the conditional to move a statement out of was not found")
        body = self._guard(self._remove(updated_node.body))
        return updated_node.with_changes(body=body)

    def _remove(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """Drop removed statements; the comments in front of them stay, on the next one."""
        out: list[cst.BaseStatement] = []
        waiting: list[cst.EmptyLine] = []
        for line in body:
            if id(line) in self._removed:
                waiting += self._removed[id(line)].leading_lines
                continue
            if any(empty.comment is not None for empty in waiting):
                own = cast(cst.SimpleStatementLine, line).leading_lines
                line = cast(cst.SimpleStatementLine, line).with_changes(
                    leading_lines=[*waiting, *own]
                )
            waiting = []
            out.append(line)
        return out

    def _guard(self, body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """Put runs of guarded statements under one `if` each."""
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


def _pass() -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine([cst.Pass()])


def _if(test: str, body: list[cst.BaseStatement], indent: str | None) -> cst.If:
    first = cast(cst.SimpleStatementLine, body[0])
    lines = [first.with_changes(leading_lines=()), *body[1:]]
    return cst.If(
        cst.parse_expression(test),
        cst.IndentedBlock(lines, indent=indent),
        leading_lines=first.leading_lines,
    )


class _Comments(cst.CSTVisitor):
    """Collects the comments of a node, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Comment] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found.append(node)


def _comments(*nodes: cst.CSTNode) -> list[cst.Comment]:
    visitor = _Comments()
    for node in nodes:
        node.visit(visitor)
    return visitor.found


def _with_lost_comments(
    before: cst.SimpleStatementLine, after: list[cst.SimpleStatementLine]
) -> list[cst.SimpleStatementLine]:
    """`after` with the comments that went with what was taken out of `before`.

    One comment goes behind the statement where that is one line without a comment; otherwise they
    go in front of it, a line each.
    """
    lost = _comments(before)
    for kept in _comments(*after):
        same = next((each for each in lost if each.value == kept.value), None)
        if same is not None:
            lost.remove(same)
    if not lost:
        return after
    first, *rest = after
    code = cst.Module([]).code_for_node(first.with_changes(leading_lines=()))
    trailing = first.trailing_whitespace
    if len(lost) == 1 and trailing.comment is None and code.count("\n") == 1:
        ending = trailing.with_changes(whitespace=cst.SimpleWhitespace("  "), comment=lost[0])
        return [first.with_changes(trailing_whitespace=ending), *rest]
    own_lines = [cst.EmptyLine(comment=comment) for comment in lost]
    return [first.with_changes(leading_lines=[*first.leading_lines, *own_lines]), *rest]


def _ends_in_comment(line: cst.SimpleStatementLine) -> bool:
    return line.trailing_whitespace.comment is not None


def _additions(action: RewriteAlloc) -> list[cst.BaseSmallStatement]:
    """The statements to write after an allocation."""
    texts = []
    if action.result is not None:
        call = f"{action.base}.alloc_fragment({action.shape}, {action.dtype})"
        texts.append(f"{action.result} = {call}")
    if action.opens is not None:
        texts.append(f"{action.base}.reducer_init({action.opens})")
    return [_small_statement(text) for text in texts]


def _spelled(call: cst.Call, position: int, keyword: str, otherwise: str) -> str:
    for place, argument in enumerate(call.args):
        if _keyword(argument) == keyword or (_keyword(argument) == "" and place == position):
            code = cst.Module([]).code_for_node(argument.value)
            return otherwise if "\n" in code else code
    return otherwise


def _small_statement(text: str) -> cst.BaseSmallStatement:
    line = cst.parse_statement(text)
    assert isinstance(line, cst.SimpleStatementLine)
    return line.body[0]


def _without_replication(value: cst.BaseExpression) -> cst.BaseExpression:
    if not isinstance(value, cst.Call):
        raise CannotEditError("an allocation is no call")
    dropped = [
        argument
        for position, argument in enumerate(value.args)
        if _keyword(argument) == "replication" or (_keyword(argument) == "" and position == 3)
    ]
    return value.with_changes(args=_without(value.args, dropped))


def _keyword(argument: cst.Arg) -> str:
    return "" if argument.keyword is None else argument.keyword.value


def _without(arguments: Sequence[cst.Arg], dropped: Sequence[cst.Arg]) -> list[cst.Arg]:
    """`arguments` less some of them, whose comments move to the argument in front."""
    kept: list[cst.Arg] = []
    for position, argument in enumerate(arguments):
        if not any(argument is gone for gone in dropped):
            kept.append(argument)
        elif kept:
            last = position == len(arguments) - 1
            kept[-1] = kept[-1].with_changes(comma=_merge(kept[-1].comma, argument.comma, last))
    return kept


_Comma = cst.Comma | cst.MaybeSentinel


def _merge(before: _Comma, dropped: _Comma, last: bool) -> _Comma:
    """The comma in front of a dropped argument, holding the comments of both commas."""
    if not isinstance(dropped, cst.Comma) or not isinstance(before, cst.Comma):
        return dropped if last else before
    old, new = before.whitespace_after, dropped.whitespace_after
    if not isinstance(new, cst.ParenthesizedWhitespace) or new.first_line.comment is None:
        if not last:
            return before
        if not isinstance(old, cst.ParenthesizedWhitespace) or not _has_comment(old):
            return dropped
        # The parenthesis stays where it closed the call.
        line = new.last_line if isinstance(new, cst.ParenthesizedWhitespace) else old.last_line
        return before.with_changes(whitespace_after=old.with_changes(last_line=line))
    if not isinstance(old, cst.ParenthesizedWhitespace) or not _has_comment(old):
        return dropped
    own = cst.EmptyLine(indent=True, whitespace=old.last_line, comment=new.first_line.comment)
    merged = new.with_changes(
        first_line=old.first_line, empty_lines=[*old.empty_lines, own, *new.empty_lines]
    )
    return dropped.with_changes(whitespace_after=merged)


def _has_comment(whitespace: cst.BaseParenthesizableWhitespace) -> bool:
    return isinstance(whitespace, cst.ParenthesizedWhitespace) and (
        whitespace.first_line.comment is not None
        or any(line.comment is not None for line in whitespace.empty_lines)
    )


def _called(call: cst.Call, name: str, arguments: Sequence[cst.Arg]) -> cst.Call:
    """`call` on another operation of the same language, with other arguments."""
    func: cst.BaseExpression = cst.Name(name)
    if isinstance(call.func, cst.Attribute):
        func = call.func.with_changes(attr=cst.Name(name))
    tail = list(arguments)
    if tail and isinstance(tail[-1].comma, cst.Comma) and not _ends_line(tail[-1].comma):
        tail[-1] = tail[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(func=func, args=tail)


def _ends_line(comma: cst.Comma) -> bool:
    return isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace)


def _in_order(call: cst.Call, *parameters: str) -> cst.Call:
    """`call` with the arguments for `parameters` first, in that order, the others after them.

    Only the arguments change places: commas, line breaks and comments stay where they are.
    """
    named = {_keyword(argument): argument for argument in call.args}
    positional = [argument for argument in call.args if not _keyword(argument)]
    first = positional[: len(parameters)]
    first += [named[name] for name in parameters[len(first) :] if name in named]
    rest = [each for each in call.args if not any(each is chosen for chosen in first)]
    places = zip(call.args, [*first, *rest], strict=True)
    moved = [
        each.with_changes(comma=place.comma, whitespace_after_arg=place.whitespace_after_arg)
        for place, each in places
    ]
    return call.with_changes(args=moved)


def _open(call: cst.Call, action: OpenEpoch) -> cst.Call:
    call = _in_order(call, "buffer", "value")
    if action.keep:
        reducer, value = call.args[:2]
        if action.cast is not None:
            value = value.with_changes(value=_cast_call(action.base, value.value, action.cast))
        return _called(call, "reducer_init", [_positional(reducer), _positional(value)])
    (reducer,) = _without(call.args, call.args[1:])
    if action.seed is not None:
        seed = cst.Arg(cst.parse_expression(action.seed))
        return _called(call, "reducer_init", _appended(_positional(reducer), seed))
    return _called(call, "reducer_init", [_positional(reducer)])


def _cast_call(base: str, value: cst.BaseExpression, dtype: str) -> cst.Call:
    """`T.cast(value, dtype)`."""
    func = cst.parse_expression(f"{base}.cast")
    return cst.Call(func, [cst.Arg(value), cst.Arg(cst.parse_expression(dtype))])


def _positional(argument: cst.Arg) -> cst.Arg:
    return argument.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)


def _close(call: cst.Call, result: str) -> cst.Call:
    call = _in_order(call, "reducer", "dst", "batch")
    dropped = [argument for argument in call.args[1:] if _keyword(argument) in ("", "dst", "batch")]
    reducer, *kept = _without(call.args, dropped)
    arguments = _appended(_positional(reducer), cst.Arg(cst.Name(result)))
    return _called(call, "finalize_reducer", [*arguments, *kept])


def _appended(first: cst.Arg, added: cst.Arg) -> list[cst.Arg]:
    """`first` and `added`, the space in front of the closing parenthesis staying there."""
    closing = first.whitespace_after_arg
    comma = first.comma
    if isinstance(comma, cst.Comma) and comma.whitespace_after.empty:
        comma = cst.MaybeSentinel.DEFAULT
    return [
        first.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")),
        added.with_changes(whitespace_after_arg=closing),
    ]


# Updates


def _update(
    target: cst.BaseExpression,
    value: cst.BaseExpression,
    action: RewriteUpdate,
    semicolon: cst.Semicolon | cst.MaybeSentinel,
) -> cst.Expr:
    if not isinstance(target, cst.Subscript):
        raise CannotEditError("an update has no subscript")
    func = cst.parse_expression(f"{action.base}.reducer_update")
    if action.leaf is not None and len(action.leaf.path) == 1 and not action.rfc:
        call = _same_call(target, value, func, action.leaf.path[0])
        if call is not None:
            return cst.Expr(call, semicolon=semicolon)
    if action.leaf is not None:
        value = _bare(_take_out(value, action.leaf.path, action))
    elif action.negate:
        value = _negated(value, action)
    if isinstance(value, _LOOSE) and not value.lpar:
        value = _parenthesized(value)
    arguments = [*_target_arguments(target, action.rfc), cst.Arg(value)]
    return cst.Expr(cst.Call(func, arguments), semicolon=semicolon)


def _same_call(
    target: cst.Subscript, value: cst.BaseExpression, func: cst.BaseExpression, side: int
) -> cst.Call | None:
    """`T.max(acc[i], v)` as an update: the same call, with its line breaks and comments.

    `side` says which argument is the reducer's own element.
    """
    if not isinstance(value, cst.Call) or value.lpar or len(value.args) != 2:
        return None
    first, second = value.args
    contribution = first.value if side else second.value
    arguments = [first.with_changes(value=target), second.with_changes(value=contribution)]
    return value.with_changes(func=func, args=arguments)


def _target_arguments(target: cst.Subscript, rfc: bool) -> list[cst.Arg]:
    bare = target.with_changes(lpar=(), rpar=())
    if not rfc:
        return [cst.Arg(bare)]
    indices = []
    for element in target.slice:
        if not isinstance(element.slice, cst.Index):
            raise CannotEditError("an update has a slice")
        indices.append(element.slice.value)
    if len(indices) == 1:
        return [cst.Arg(target.value), cst.Arg(indices[0])]
    return [
        cst.Arg(target.value),
        cst.Arg(cst.Tuple([cst.Element(index) for index in indices])),
    ]


def _take_out(
    value: cst.BaseExpression, path: tuple[int, ...], action: RewriteUpdate
) -> cst.BaseExpression:
    """`value` without the operand that `path` leads to."""
    if isinstance(value, cst.BinaryOperation):
        sides = [value.left, value.right]
        names = ("left", "right")
    elif isinstance(value, cst.Call) and len(value.args) == 2:
        sides = [argument.value for argument in value.args]
        names = ("0", "1")
    else:
        raise CannotEditError("a combine store has an unexpected shape")
    side = path[0]
    other = sides[1 - side]
    if len(path) == 1:
        subtracted = isinstance(value, cst.BinaryOperation) and isinstance(
            value.operator, cst.Subtract
        )
        rest = _negated(other, action) if subtracted else other
        return _spanning(rest, value)
    inner = _take_out(sides[side], path[1:], action)
    if isinstance(value, cst.BinaryOperation):
        return value.with_changes(**{names[side]: inner})
    arguments = list(value.args)
    arguments[side] = arguments[side].with_changes(value=inner)
    return value.with_changes(args=arguments)


def _spanning(rest: cst.BaseExpression, whole: cst.BaseExpression) -> cst.BaseExpression:
    """`rest` in the parentheses of `whole`, where those hold a comment to keep."""
    if any(_has_comment(paren.whitespace_after) for paren in whole.lpar) or any(
        _has_comment(paren.whitespace_before) for paren in whole.rpar
    ):
        return rest.with_changes(lpar=[*whole.lpar, *rest.lpar], rpar=[*rest.rpar, *whole.rpar])
    return rest


def _negated(value: cst.BaseExpression, action: RewriteUpdate) -> cst.BaseExpression:
    if action.cast is not None:
        value = _cast_call(action.base, value.with_changes(lpar=(), rpar=()), action.cast)
    elif not value.lpar and not isinstance(value, _ATOMS):
        value = _parenthesized(value)
    if action.wraps:
        return cst.BinaryOperation(cst.Integer("0"), cst.Subtract(), value)
    return cst.UnaryOperation(cst.Minus(), value)


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """An argument without parentheses that only an operator needed."""
    inner = value.with_changes(lpar=(), rpar=())
    if isinstance(value, _LOOSE) or "\n" in cst.Module([]).code_for_node(value):
        return value
    return inner


def _parenthesized(value: cst.BaseExpression) -> cst.BaseExpression:
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _convert(call: cst.Call, rfc: bool) -> cst.Call:
    if rfc:
        call = _in_order(call, "target", "value")
        target = call.args[0].value
        if not isinstance(target, cst.Subscript):
            raise CannotEditError("an update has no subscript")
        value = _positional(call.args[1])
        return call.with_changes(args=[*_target_arguments(target, True), value])
    named = {_keyword(argument) for argument in call.args}
    call = _in_order(call, "reducer", "index" if "index" in named else "indices", "value")
    reducer, index, value = call.args[:3]
    parts = [index.value]
    if isinstance(index.value, cst.Tuple | cst.List):
        parts = [element.value for element in index.value.elements]
    subscript = cst.Subscript(
        reducer.value, [cst.SubscriptElement(cst.Index(part)) for part in parts]
    )
    return call.with_changes(args=[cst.Arg(subscript), _positional(value)])
