"""Values that a file states, read without running it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterable, Mapping
from typing import Any

#: How JSON names a dtype of a library and the language module, for a worker to look up.
DTYPE, LANGUAGE = "$dtype", "$language"
_MODULES = frozenset({"T", "torch", "tl", "tilelang", "np", "numpy", "jnp", "language"})
_DTYPES = ("float", "bfloat", "int", "uint", "bool", "half", "double")
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}
_LARGEST_POWER = 64
_EXAMPLE = "--args 'M=1024, tile=(16, 128), dtype=float16'"


def shown(value: Any) -> str:
    """A value as a user would write it; a string that is no word in quotes."""
    if isinstance(value, dict):
        return "T" if LANGUAGE in value else str(next(iter(value.values())))
    if isinstance(value, list):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    return repr(value) if isinstance(value, str) and not value.isidentifier() else str(value)


class UnknownValueError(ValueError):
    """An expression whose value the file does not state."""


def value_of(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """The value of an expression of literals, names in `known`, arithmetic and dtypes.

    A dtype (`T.float16`, `torch.bfloat16`) is `{DTYPE: name}`. Attributes of what `known` maps to
    a mapping are looked up there.

    Raises:
        UnknownValueError: it is anything else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [value_of(item, known) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        inner = value_of(node.operand, known)
        return not inner if isinstance(node.op, ast.Not) else -_number(inner)
    if isinstance(node, ast.BinOp):
        return _binary(node, known)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return _attribute(node.value.id, node.attr, known)
    raise UnknownValueError(ast.unparse(node))


def _binary(node: ast.BinOp, known: Mapping[str, Any]) -> Any:
    combine = _BINARY.get(type(node.op))
    if combine is None:
        raise UnknownValueError(ast.unparse(node))
    left, right = _number(value_of(node.left, known)), _number(value_of(node.right, known))
    if isinstance(node.op, (ast.Pow, ast.LShift)) and right > _LARGEST_POWER:
        raise UnknownValueError(ast.unparse(node))
    try:
        return combine(left, right)
    except (ArithmeticError, TypeError) as error:
        raise UnknownValueError(ast.unparse(node)) from error


def _number(value: Any) -> Any:
    if not isinstance(value, (int, float)):
        raise UnknownValueError(repr(value))
    return value


def _attribute(base: str, name: str, known: Mapping[str, Any]) -> Any:
    inside = known.get(base)
    if isinstance(inside, dict) and name in inside:
        return inside[name]
    if base in _MODULES and name.startswith(_DTYPES):
        return {DTYPE: name}
    raise UnknownValueError(f"{base}.{name}")


def bindings(body: Iterable[ast.stmt], known: Mapping[str, Any]) -> dict[str, Any]:
    """What the assignments of one scope bind to values, in order, on top of `known`.

    A name that is bound again to something unknown is dropped. Nested functions are not entered;
    `args = parser.parse_args()` becomes the defaults of the parser.
    """
    found = dict(known)
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                _bind(target, statement.value, found)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _bind(statement.target, statement.value, found)
        elif isinstance(statement, (ast.If, ast.With, ast.Try)):
            found.update(bindings(statement.body, found))
    return found


def _bind(target: ast.expr, value: ast.expr, found: dict[str, Any]) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            for inner, each in zip(target.elts, value.elts, strict=True):
                _bind(inner, each, found)
            return
        first = target.elts[0] if target.elts else None
        if isinstance(first, ast.Name) and _parses_arguments(value):
            found[first.id] = found.get("argparse defaults", {})
        return
    if not isinstance(target, ast.Name):
        return
    if _parses_arguments(value):
        found[target.id] = found.get("argparse defaults", {})
        return
    try:
        found[target.id] = value_of(value, found)
    except UnknownValueError:
        found.pop(target.id, None)


def _parses_arguments(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("parse_args", "parse_known_args")
    )


def parser_defaults(tree: ast.AST) -> dict[str, Any]:
    """The defaults of every `add_argument` in the file, by the name of the argument."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "add_argument":
            continue
        options = [a.value for a in node.args if isinstance(a, ast.Constant)]
        names = [option for option in options if isinstance(option, str)]
        words = {keyword.arg: keyword.value for keyword in node.keywords}
        if names and "default" in words:
            long = next((name for name in names if name.startswith("--")), names[0])
            try:
                found[long.lstrip("-").replace("-", "_")] = value_of(words["default"], {})
            except UnknownValueError:
                continue
    return found


def parse_arguments(text: str) -> dict[str, Any]:
    """The values in `M=1024, tile=(16, 128), dtype=float16`.

    A bare word is itself, as a string.

    Raises:
        ValueError: `text` is no list of NAME=VALUE, or has a name twice; the message says where.
    """
    try:
        call = ast.parse(f"_({text})", mode="eval").body
    except SyntaxError as error:
        raise ValueError(_malformed(text)) from error
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ValueError(_malformed(text))
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name in found:
            raise ValueError(twice(name))
        found[name] = _given(name, keyword.value)
    return found


def twice(name: str) -> str:
    """What is wrong where a name is given more than once."""
    return f"{name} is given more than once"


def _given(name: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    try:
        return value_of(node, {})
    except UnknownValueError as error:
        raise ValueError(
            f"{name}={ast.unparse(node)} is no value: give a number, a word or string, a dtype, "
            f"or a tuple of these, as in {_EXAMPLE}"
        ) from error


def _malformed(text: str) -> str:
    return f"{text!r} is not NAME=VALUE, ..., as in {_EXAMPLE}"
