"""The comments of what libcst takes out of a statement, which stay with what is left."""

from __future__ import annotations

import libcst as cst

_Comma = cst.Comma | cst.MaybeSentinel


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


def with_lost_comments(
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


def merged_comma(before: _Comma, dropped: _Comma, last: bool) -> _Comma:
    """The comma in front of a dropped argument, holding the comments of both commas."""
    if not isinstance(dropped, cst.Comma) or not isinstance(before, cst.Comma):
        return dropped if last else before
    old, new = before.whitespace_after, dropped.whitespace_after
    if not isinstance(new, cst.ParenthesizedWhitespace) or new.first_line.comment is None:
        if not last:
            return before
        if not isinstance(old, cst.ParenthesizedWhitespace) or not has_comment(old):
            return dropped
        # The parenthesis stays where it closed the call.
        line = new.last_line if isinstance(new, cst.ParenthesizedWhitespace) else old.last_line
        return before.with_changes(whitespace_after=old.with_changes(last_line=line))
    if not isinstance(old, cst.ParenthesizedWhitespace) or not has_comment(old):
        return dropped
    own = cst.EmptyLine(indent=True, whitespace=old.last_line, comment=new.first_line.comment)
    merged = new.with_changes(
        first_line=old.first_line, empty_lines=[*old.empty_lines, own, *new.empty_lines]
    )
    return dropped.with_changes(whitespace_after=merged)


def has_comment(whitespace: cst.BaseParenthesizableWhitespace) -> bool:
    """Whether a comment is in the space between two parts of an expression."""
    return isinstance(whitespace, cst.ParenthesizedWhitespace) and (
        whitespace.first_line.comment is not None
        or any(line.comment is not None for line in whitespace.empty_lines)
    )
