"""The buffers a kernel declares, and the dtypes of expressions over them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from reducer_migrate.frontend.scopes import Scope, parameters
from reducer_migrate.frontend.syntax import argument, called
from reducer_migrate.frontend.values import cast_of, dtype_key, promote, static_int

#: The last names of what makes a buffer, and where the dtype stands among the arguments.
_ALLOCATORS = {
    "alloc_fragment": 1,
    "alloc_shared": 1,
    "alloc_local": 1,
    "alloc_reducer": 1,
    "alloc_var": 0,
    "alloc_global": 1,
    "empty": 1,
}
_TENSORS = frozenset({"Tensor", "Buffer", "StridedTensor", "SharedBuffer", "FragmentBuffer"})
#: Calls whose result has the dtype of their first argument.
_SAME_DTYPE = frozenset(
    {"max", "min", "abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid"}
    | {"sin", "cos", "floor", "ceil", "round", "clamp"}
)


class Buffer(NamedTuple):
    """A declared buffer: how it was made (`alloc_fragment`, `Tensor`), its dtype and its shape."""

    kind: str
    dtype: str | None
    shape: tuple[int | None, ...] | None


def declared_buffers(scope: Scope) -> dict[str, Buffer]:
    """Every buffer that a function declares once, by name: parameters and allocations."""
    found: dict[str, Buffer] = {}
    if not isinstance(scope.node, ast.Module):
        for parameter in parameters(scope.node):
            _declare(found, parameter.arg, parameter.annotation, scope)
    for node in scope.nodes:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            _declare(found, node.target.id, node.annotation, scope)
            _declare(found, node.target.id, node.value, scope)
    for name, value in scope.single.items():
        _declare(found, name, value, scope)
    return found


def _declare(found: dict[str, Buffer], name: str, node: ast.expr | None, scope: Scope) -> None:
    if isinstance(node, ast.Subscript):
        _declare_subscript(found, name, node, scope)
    kind = called(node) if node is not None else None
    if kind is None or not isinstance(node, ast.Call):
        return
    if kind in _ALLOCATORS:
        dtype = argument(node, _ALLOCATORS[kind], "dtype")
    elif kind in _TENSORS:
        dtype = argument(node, 1, "dtype")
    else:
        return
    shape = None if kind == "alloc_var" else argument(node, 0, "shape")
    found[name] = Buffer(kind, dtype_key(dtype, scope), shape_of(shape, scope))


def _declare_subscript(
    found: dict[str, Buffer], name: str, node: ast.Subscript, scope: Scope
) -> None:
    """`T.Tensor[(M, N), T.float16]`, the eager spelling."""
    if isinstance(node.value, ast.Attribute) and node.value.attr in _TENSORS:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(parts) == 2:
            found[name] = Buffer(
                node.value.attr, dtype_key(parts[1], scope), shape_of(parts[0], scope)
            )


def shape_of(node: ast.expr | None, scope: Scope) -> tuple[int | None, ...] | None:
    """The static shape a shape expression names; None where even the rank is unknown."""
    if node is None:
        return None
    if isinstance(node, ast.Tuple | ast.List):
        if any(isinstance(part, ast.Starred) for part in node.elts):
            return None
        return tuple(static_int(part, scope) for part in node.elts)
    value = static_int(node, scope)
    if value is not None:
        return (value,)
    if isinstance(node, ast.Name):
        bound = scope.value(node.id)
        if isinstance(bound, ast.Tuple | ast.List):
            return shape_of(bound, scope)
    return None


def expression_dtype(
    node: ast.expr, scope: Scope, buffers: dict[str, Buffer], depth: int = 8
) -> str | None:
    """The dtype key of an expression, None where the model cannot say or a number has none."""
    if depth == 0:
        return None
    if isinstance(node, ast.Compare | ast.BoolOp):
        return "bool"
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            return "bool"
        return expression_dtype(node.operand, scope, buffers, depth - 1)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        buffer = buffers.get(node.value.id)
        return None if buffer is None else buffer.dtype
    if isinstance(node, ast.Name):
        value = scope.value(node.id)
        known = buffers.get(node.id)
        if known is not None and known.kind == "alloc_var":
            return known.dtype
        return None if value is None else expression_dtype(value, scope, buffers, depth - 1)
    if isinstance(node, ast.BinOp):
        return _arithmetic_dtype(node, scope, buffers, depth - 1)
    if isinstance(node, ast.Call):
        return _call_dtype(node, scope, buffers, depth - 1)
    return None


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant)


def _arithmetic_dtype(
    node: ast.BinOp, scope: Scope, buffers: dict[str, Buffer], depth: int
) -> str | None:
    if _is_number(node.left):
        return expression_dtype(node.right, scope, buffers, depth)
    left = expression_dtype(node.left, scope, buffers, depth)
    if _is_number(node.right):
        return left
    return promote(left, expression_dtype(node.right, scope, buffers, depth))


def _call_dtype(node: ast.Call, scope: Scope, buffers: dict[str, Buffer], depth: int) -> str | None:
    cast = cast_of(node)
    if cast is not None:
        return dtype_key(cast[1], scope)
    name = called(node)
    if name in ("max_value", "min_value", "infinity"):
        return dtype_key(argument(node, 0, "dtype"), scope)
    if name in ("if_then_else", "Select") and len(node.args) == 3:
        left = expression_dtype(node.args[1], scope, buffers, depth)
        right = expression_dtype(node.args[2], scope, buffers, depth)
        return left if right == left or _is_number(node.args[2]) else None
    if name in _SAME_DTYPE and node.args:
        dtypes = {
            expression_dtype(value, scope, buffers, depth)
            for value in node.args
            if not _is_number(value)
        }
        return dtypes.pop() if len(dtypes) == 1 else None
    return None
