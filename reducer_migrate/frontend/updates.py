"""Recognize `acc[i] = combine(acc[i], v)`: which monoid, and what is contributed.

The contribution of a combine store is the stored expression with the reducer's own element
taken out. `Leaf` says where that element stands, so that an editor can take it out as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from reducer_migrate.frontend.syntax import called, same
from reducer_rules.monoid import Op

_OPERATORS: dict[type[ast.operator], Op] = {
    ast.Add: Op.SUM,
    ast.Sub: Op.SUM,
    ast.BitAnd: Op.BITAND,
    ast.BitOr: Op.BITOR,
    ast.BitXor: Op.BITXOR,
    ast.Mult: Op.PROD,
}
_CALLS = {"max": Op.MAX, "min": Op.MIN}


class Leaf(NamedTuple):
    """The reducer's own element in a combine store.

    `path` leads from the stored value to it (0 left or first, 1 right or second);
    `negated` says that taking it out leaves a negated operand (`acc[i] - v`).
    """

    op: Op
    path: tuple[int, ...]
    negated: bool


def combine_of(operator: ast.operator) -> Op | None:
    """The monoid of an augmented assignment's operator; None where it is none."""
    return _OPERATORS.get(type(operator))


def find_leaf(value: ast.expr, target: ast.Subscript) -> Leaf | None:
    """Recognize a combine store of `value` into `target`.

    Left- and right-nested sums are followed; the right operand of a subtraction is not, since
    there the element is negated.
    """
    op = _monoid(value)
    if op is None:
        return None
    for path, negated in _paths(value, target, op):
        return Leaf(op, path, negated)
    return None


def _monoid(node: ast.expr) -> Op | None:
    if isinstance(node, ast.BinOp):
        return _OPERATORS.get(type(node.op))
    if called(node) in _CALLS and isinstance(node, ast.Call):
        plain = len(node.args) == 2 and not node.keywords
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        return _CALLS[called(node) or ""] if plain and not starred else None
    return None


def operands(node: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The two operands of a binary operation or of a two-argument call."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    assert isinstance(node, ast.Call)
    return node.args[0], node.args[1]


def _paths(node: ast.expr, target: ast.Subscript, op: Op) -> Iterator[tuple[tuple[int, ...], bool]]:
    if _monoid(node) is not op:
        return
    subtracts = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    for side, operand in enumerate(operands(node)):
        if side == 1 and subtracts:
            return
        if same(operand, target):
            yield (side,), subtracts
        for path, negated in _paths(operand, target, op):
            yield (side, *path), negated


def leaf_node(value: ast.expr, leaf: Leaf) -> ast.expr:
    """The node that `leaf` points to."""
    for side in leaf.path:
        value = operands(value)[side]
    return value


def without_leaf(value: ast.expr, leaf: Leaf) -> ast.expr:
    """The operand beside the leaf: what gives a contribution its dtype."""
    parent = value
    for side in leaf.path[:-1]:
        parent = operands(parent)[side]
    return operands(parent)[1 - leaf.path[-1]]
