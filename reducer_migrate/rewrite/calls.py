"""Calls of the language: another operation, other arguments, every comment kept."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from reducer_migrate.rewrite.comments import merged_comma


def keyword_of(argument: cst.Arg) -> str:
    """The keyword of an argument, empty for a positional one."""
    return "" if argument.keyword is None else argument.keyword.value


def positional(argument: cst.Arg) -> cst.Arg:
    """The argument without its keyword."""
    return argument.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)


def without(arguments: Sequence[cst.Arg], dropped: Sequence[cst.Arg]) -> list[cst.Arg]:
    """`arguments` less some of them, whose comments move to the argument in front."""
    kept: list[cst.Arg] = []
    for position, argument in enumerate(arguments):
        if not any(argument is gone for gone in dropped):
            kept.append(argument)
        elif kept:
            last = position == len(arguments) - 1
            kept[-1] = kept[-1].with_changes(
                comma=merged_comma(kept[-1].comma, argument.comma, last)
            )
    return kept


def member(base: str, name: str) -> str:
    """How a member of the language is spelled: `T.name`, or bare where all are imported."""
    return f"{base}.{name}" if base else name


def operation(call: cst.Call, base: str, name: str, arguments: Sequence[cst.Arg]) -> cst.Call:
    """`call` on another operation of the language, with other arguments.

    An attribute stays one of the same language; a bare name, which may be one of the author's own
    for the old operation, becomes one of `base`.
    """
    func: cst.BaseExpression
    if isinstance(call.func, cst.Attribute):
        func = call.func.with_changes(attr=cst.Name(name))
    else:
        func = cst.parse_expression(member(base, name))
    return with_arguments(call.with_changes(func=func), arguments)


def with_arguments(call: cst.Call, arguments: Sequence[cst.Arg]) -> cst.Call:
    """`call` with other arguments; a comma stays behind the last one only at the end of a line."""
    tail = list(arguments)
    if tail and isinstance(tail[-1].comma, cst.Comma) and not _ends_line(tail[-1].comma):
        tail[-1] = tail[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=tail)


def _ends_line(comma: cst.Comma) -> bool:
    return isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace)


def in_order(call: cst.Call, *parameters: str) -> cst.Call:
    """`call` with the arguments for `parameters` first, in that order, the others after them.

    Only the arguments change places: commas, line breaks and comments stay where they are.
    """
    named = {keyword_of(argument): argument for argument in call.args}
    unnamed = [argument for argument in call.args if not keyword_of(argument)]
    first = unnamed[: len(parameters)]
    first += [named[name] for name in parameters[len(first) :] if name in named]
    rest = [each for each in call.args if not any(each is chosen for chosen in first)]
    places = zip(call.args, [*first, *rest], strict=True)
    moved = [
        each.with_changes(comma=place.comma, whitespace_after_arg=place.whitespace_after_arg)
        for place, each in places
    ]
    return call.with_changes(args=moved)


def appended(first: cst.Arg, added: cst.Arg) -> list[cst.Arg]:
    """`first` and `added`, the space in front of the closing parenthesis staying there."""
    closing = first.whitespace_after_arg
    comma = first.comma
    if isinstance(comma, cst.Comma) and comma.whitespace_after.empty:
        comma = cst.MaybeSentinel.DEFAULT
    return [
        first.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")),
        added.with_changes(whitespace_after_arg=closing),
    ]


def cast_to(base: str, value: cst.BaseExpression, dtype: str) -> cst.Call:
    """`T.cast(value, dtype)`."""
    func = cst.parse_expression(member(base, "cast"))
    return cst.Call(func, [cst.Arg(value), cst.Arg(cst.parse_expression(dtype))])
