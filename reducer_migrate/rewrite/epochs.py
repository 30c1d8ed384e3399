"""The text of what is around the updates: an allocation, and where an epoch opens and closes."""

from __future__ import annotations

import libcst as cst

from reducer_migrate.rewrite.actions import CannotEditError, OpenEpoch, RewriteAlloc
from reducer_migrate.rewrite.calls import (
    appended,
    cast_to,
    in_order,
    keyword_of,
    member,
    operation,
    positional,
    with_arguments,
    without,
)


def as_spelled(action: RewriteAlloc, value: cst.BaseExpression) -> RewriteAlloc:
    """`action` with shape and dtype as the allocation spells them, unless over several lines."""
    if not isinstance(value, cst.Call):
        return action
    shape = _spelled(value, 0, "shape", action.shape)
    dtype = _spelled(value, 1, "dtype", action.dtype)
    return action._replace(shape=shape, dtype=dtype)


def _spelled(call: cst.Call, position: int, keyword: str, otherwise: str) -> str:
    for place, argument in enumerate(call.args):
        if keyword_of(argument) == keyword or (keyword_of(argument) == "" and place == position):
            code = cst.Module([]).code_for_node(argument.value)
            return otherwise if "\n" in code else code
    return otherwise


def without_replication(value: cst.BaseExpression) -> cst.BaseExpression:
    """The call that allocates, less its `replication`."""
    if not isinstance(value, cst.Call):
        raise CannotEditError("an allocation is no call")
    dropped = [
        argument
        for position, argument in enumerate(value.args)
        if keyword_of(argument) == "replication" or (keyword_of(argument) == "" and position == 3)
    ]
    return value.with_changes(args=without(value.args, dropped))


def after_allocation(action: RewriteAlloc) -> list[cst.BaseSmallStatement]:
    """The statements to write after an allocation: that of the result, and the opening."""
    texts = []
    if action.result is not None:
        call = f"{member(action.base, 'alloc_fragment')}({action.shape}, {action.dtype})"
        texts.append(f"{action.result} = {call}")
    if action.opens is not None:
        texts.append(f"{member(action.base, 'reducer_init')}({action.opens})")
    return [_small_statement(text) for text in texts]


def _small_statement(text: str) -> cst.BaseSmallStatement:
    line = cst.parse_statement(text)
    assert isinstance(line, cst.SimpleStatementLine)
    return line.body[0]


def open_epoch(call: cst.Call, action: OpenEpoch) -> cst.Call:
    """`T.clear`, `T.fill` as `T.reducer_init`, with the seed that `action` asks for."""
    call = in_order(call, "buffer", "value")
    if action.keep:
        reducer, value = call.args[:2]
        if action.cast is not None:
            value = value.with_changes(value=cast_to(action.base, value.value, action.cast))
        return operation(
            call, action.base, "reducer_init", [positional(reducer), positional(value)]
        )
    (reducer,) = without(call.args, call.args[1:])
    if action.seed is not None:
        seed = cst.Arg(cst.parse_expression(action.seed))
        return operation(call, action.base, "reducer_init", appended(positional(reducer), seed))
    return operation(call, action.base, "reducer_init", [positional(reducer)])


def close_epoch(call: cst.Call, result: str) -> cst.Call:
    """`T.finalize_reducer` with a destination and without a batch."""
    call = in_order(call, "reducer", "dst", "batch")
    dropped = [
        argument for argument in call.args[1:] if keyword_of(argument) in ("", "dst", "batch")
    ]
    reducer, *kept = without(call.args, dropped)
    arguments = appended(positional(reducer), cst.Arg(cst.Name(result)))
    return with_arguments(call, [*arguments, *kept])
