"""What can be known of an expression without running it: integers, dtypes, fill values."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable

from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import argument, called
from reducer_rules.monoid import integer_bounds, is_float
from reducer_rules.timeline import Fill

_DEPTH = 8
_DTYPE = re.compile(r"(u?int(8|16|32|64)|b?float(16|32|64)|float8_\w+|bool)\Z")
_DTYPE_ALIASES = {"float": "float32", "half": "float16", "int": "int32", "double": "float64"}
_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def static_int(node: ast.expr | None, scope: Scope, depth: int = _DEPTH) -> int | None:
    """The value of an integer expression over constants and names bound once to one."""
    number = static_number(node, scope, depth)
    return number if isinstance(number, int) else None


def static_number(node: ast.expr | None, scope: Scope, depth: int = _DEPTH) -> int | float | None:
    """The value of a numeric expression, infinities included; None where not static."""
    if node is None or depth == 0:
        return None
    if isinstance(node, ast.Constant):
        return _number_of(node.value)
    if isinstance(node, ast.Name):
        return static_number(scope.value(node.id), scope, depth - 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = static_number(node.operand, scope, depth)
        return value if value is None or isinstance(node.op, ast.UAdd) else -value
    if isinstance(node, ast.BinOp):
        return _binary(node, scope, depth)
    if isinstance(node, ast.Call):
        return _call(node, scope, depth)
    if isinstance(node, ast.Attribute) and node.attr == "inf":
        return math.inf
    return None


def _number_of(value: object) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) else None


def _binary(node: ast.BinOp, scope: Scope, depth: int) -> int | None:
    left = static_int(node.left, scope, depth)
    right = static_int(node.right, scope, depth)
    apply = _BINARY.get(type(node.op))
    if left is None or right is None or apply is None:
        return None
    try:
        return apply(left, right)
    except ZeroDivisionError:
        return None


def _call(node: ast.Call, scope: Scope, depth: int) -> int | float | None:
    name = called(node)
    if name == "float" and len(node.args) == 1:
        return _python_float(node.args[0], scope, depth)
    if name == "infinity":
        return math.inf
    if name == "ceildiv" and len(node.args) == 2:
        left, right = (static_int(value, scope, depth) for value in node.args)
        return -(-left // right) if left is not None and right else None
    cast = cast_of(node)
    return None if cast is None else static_number(cast[0], scope, depth)


def _python_float(node: ast.expr, scope: Scope, depth: int) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return float(node.value)
        except ValueError:
            return None
    return static_number(node, scope, depth)


def cast_of(node: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The (value, dtype) of `T.cast(v, dt)`, `T.Cast(dt, v)`, `v.astype(dt)` or `T.float32(v)`."""
    name = called(node)
    first, second = argument(node, 0, "value"), argument(node, 1, "dtype")
    if name == "cast" and first is not None and second is not None:
        return first, second
    if name == "Cast" and first is not None and second is not None:
        return second, first
    if name == "astype" and isinstance(node.func, ast.Attribute) and first is not None:
        return node.func.value, first
    if name is not None and _DTYPE.match(name) and len(node.args) == 1:
        return node.args[0], node.func
    return None


def dtype_of(node: ast.expr | None, scope: Scope, depth: int = _DEPTH) -> str | None:
    """The dtype an expression names (`T.float16`, `"float16"`, `torch.float16`), if static."""
    if node is None or depth == 0:
        return None
    text: object = None
    if isinstance(node, ast.Constant):
        text = node.value
    elif isinstance(node, ast.Attribute):
        text = node.attr
    elif isinstance(node, ast.Name):
        value = scope.value(node.id)
        if value is not None:
            return dtype_of(value, scope, depth - 1)
        text = node.id if scope.lookup(node.id) is None else None
    if not isinstance(text, str):
        return None
    text = _DTYPE_ALIASES.get(text, text)
    return text if _DTYPE.match(text) else None


def dtype_key(node: ast.expr | None, scope: Scope) -> str | None:
    """A name for a dtype expression that is equal for equal dtypes: the dtype, or `$spelling`."""
    if node is None:
        return None
    return dtype_of(node, scope) or f"${ast.unparse(node)}"


def fill_of(node: ast.expr, text: str, scope: Scope) -> Fill:
    """Describe the value of a fill or of a seed."""
    if called(node) in ("max_value", "min_value") and isinstance(node, ast.Call):
        limit = "highest" if called(node) == "max_value" else "lowest"
        return Fill(text, None, limit, dtype_of(argument(node, 0, "dtype"), scope))
    return Fill(text, static_number(node, scope))


def promote(left: str | None, right: str | None) -> str | None:
    """The dtype of an arithmetic of two dtype keys; None where the model cannot say."""
    if left is None or right is None or left == right:
        return left if left == right else None
    if left.startswith("$") or right.startswith("$"):
        return None
    if is_float(left) != is_float(right):
        return left if is_float(left) else right
    if integer_bounds(left) is not None and integer_bounds(right) is not None:
        return None
    widths = {"float64": 3, "float32": 2}
    if widths.get(left, 1) == widths.get(right, 1):
        return None
    return max(left, right, key=lambda dtype: widths.get(dtype, 1))
