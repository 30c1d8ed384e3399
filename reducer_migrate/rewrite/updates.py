"""The text of updates: from stores, and from one spelling of `reducer_update` to the other."""

from __future__ import annotations

import libcst as cst

from reducer_migrate.rewrite.actions import CannotEditError, RewriteUpdate
from reducer_migrate.rewrite.calls import cast_to, in_order, keyword_of, member, positional
from reducer_migrate.rewrite.comments import has_comment

#: Expressions that need parentheses as an argument of their own.
_LOOSE = (cst.GeneratorExp, cst.NamedExpr, cst.Tuple, cst.Yield)
#: Expressions that a unary minus binds to without parentheses.
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float)


def update(
    target: cst.BaseExpression,
    value: cst.BaseExpression,
    action: RewriteUpdate,
    semicolon: cst.Semicolon | cst.MaybeSentinel,
) -> cst.Expr:
    """The store of `value` into `target` as `T.reducer_update`."""
    if not isinstance(target, cst.Subscript):
        raise CannotEditError("an update has no subscript")
    func = cst.parse_expression(member(action.base, "reducer_update"))
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


def convert(call: cst.Call, rfc: bool) -> cst.Call:
    """`T.reducer_update` in the RFC's spelling, or in the shipped one."""
    if rfc:
        call = in_order(call, "target", "value")
        target = call.args[0].value
        if not isinstance(target, cst.Subscript):
            raise CannotEditError("an update has no subscript")
        value = positional(call.args[1])
        return call.with_changes(args=[*_target_arguments(target, True), value])
    named = {keyword_of(argument) for argument in call.args}
    call = in_order(call, "reducer", "index" if "index" in named else "indices", "value")
    reducer, index, value = call.args[:3]
    parts = [index.value]
    if isinstance(index.value, cst.Tuple | cst.List):
        parts = [element.value for element in index.value.elements]
    subscript = cst.Subscript(
        reducer.value, [cst.SubscriptElement(cst.Index(part)) for part in parts]
    )
    return call.with_changes(args=[cst.Arg(subscript), positional(value)])


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
    side, operands = path[0], _operands(value)
    if len(path) > 1:
        return _with_operand(value, side, _take_out(operands[side], path[1:], action))
    rest = operands[1 - side]
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Subtract):
        rest = _negated(rest, action)
    return _spanning(rest, value)


def _operands(value: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression]:
    if isinstance(value, cst.BinaryOperation):
        return value.left, value.right
    if isinstance(value, cst.Call) and len(value.args) == 2:
        return value.args[0].value, value.args[1].value
    raise CannotEditError("a combine store has an unexpected shape")


def _with_operand(
    value: cst.BaseExpression, side: int, operand: cst.BaseExpression
) -> cst.BaseExpression:
    if not isinstance(value, cst.Call):
        return value.with_changes(**{("left", "right")[side]: operand})
    arguments = list(value.args)
    arguments[side] = arguments[side].with_changes(value=operand)
    return value.with_changes(args=arguments)


def _spanning(rest: cst.BaseExpression, whole: cst.BaseExpression) -> cst.BaseExpression:
    """`rest` in the parentheses of `whole`, where those hold a comment to keep."""
    if any(has_comment(paren.whitespace_after) for paren in whole.lpar) or any(
        has_comment(paren.whitespace_before) for paren in whole.rpar
    ):
        return rest.with_changes(lpar=[*whole.lpar, *rest.lpar], rpar=[*rest.rpar, *whole.rpar])
    return rest


def _negated(value: cst.BaseExpression, action: RewriteUpdate) -> cst.BaseExpression:
    if action.cast is not None:
        value = cast_to(action.base, value.with_changes(lpar=(), rpar=()), action.cast)
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
