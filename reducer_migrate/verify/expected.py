"""What the arguments of a kernel are meant to be, by its syntax: checked before anything runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from reducer_migrate.verify.literals import DTYPE, shown

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Kind(Enum):
    """What an argument is: how to call it, and an example of it."""

    SIZE = ("a size, a whole number of 0 or more", "1024")
    WHOLE = ("a whole number", "4")
    NUMBER = ("a number", "0.5")
    FLAG = ("True or False", "True")
    DTYPE = ("a dtype", "float16")

    @property
    def meaning(self) -> str:
        return str(self.value[0])

    @property
    def example(self) -> str:
        return str(self.value[1])

    def admits(self, value: Any) -> bool:
        """Whether a value, as `literals` gives it, is one of this kind."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if self is Kind.SIZE:
            return whole and value >= 0
        if self is Kind.WHOLE:
            return whole
        if self is Kind.NUMBER:
            return whole or isinstance(value, float)
        if self is Kind.FLAG:
            return isinstance(value, bool) or value in (0, 1)
        text = value.get(DTYPE) if isinstance(value, dict) else value
        return isinstance(text, str) and any(word in text for word in _DTYPE_WORDS)


_DTYPE_WORDS = ("float", "int", "bool", "half", "double")
_ANNOTATED = {"int": Kind.WHOLE, "float": Kind.NUMBER, "bool": Kind.FLAG}
#: Calls whose positional arguments are all sizes, and those whose first is a shape.
_SIZES = frozenset({"Kernel", "Parallel", "Pipelined", "serial", "unroll", "ceildiv"})
_SHAPED = frozenset(
    {"Tensor", "Buffer", "StridedTensor", "alloc_shared", "alloc_fragment", "alloc_local"}
    | {"alloc_reducer"}
)


def kinds_of(node: FunctionNode, constants: tuple[str, ...]) -> dict[str, Kind]:
    """What each parameter of a function is, where its annotation, default or use says so.

    Use goes before the others. A parameter that may be None, or that the function binds again, is
    not judged.
    """
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults = [*[None] * (len(positional) - len(spec.defaults)), *spec.defaults]
    found: dict[str, Kind] = dict.fromkeys(constants, Kind.SIZE)
    free: set[str] = set()
    pairs = [*zip(positional, defaults, strict=True)]
    pairs += zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    for argument, default in pairs:
        kind = _declared(argument.annotation, default)
        if kind is not None:
            found[argument.arg] = kind
        if isinstance(default, ast.Constant) and default.value is None:
            free.add(argument.arg)
    own = {id(argument) for argument, _ in pairs}
    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            found.update(_used(child))
        elif isinstance(child, ast.arg) and id(child) not in own:
            free.add(child.arg)
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            free.add(child.id)
        elif isinstance(child, ast.Compare) and isinstance(child.ops[0], ast.Is | ast.IsNot):
            free.update(each.id for each in ast.walk(child) if isinstance(each, ast.Name))
    names = {argument.arg for argument, _ in pairs} | set(constants)
    return {name: kind for name, kind in found.items() if name in names - free}


def _declared(annotation: ast.expr | None, default: ast.expr | None) -> Kind | None:
    if isinstance(annotation, ast.Name) and annotation.id in _ANNOTATED:
        return _ANNOTATED[annotation.id]
    if not isinstance(default, ast.Constant):
        return None
    if isinstance(default.value, bool):
        return Kind.FLAG
    if isinstance(default.value, int):
        return Kind.WHOLE
    return Kind.NUMBER if isinstance(default.value, float) else None


def _used(call: ast.Call) -> Iterator[tuple[str, Kind]]:
    """The names that a call of the language takes as sizes, or as a dtype."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _SIZES:
        for part in call.args:
            yield from ((each, Kind.SIZE) for each in _factors(part))
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in _SHAPED:
        shape = call.args[0] if call.args else words.get("shape")
        if isinstance(shape, ast.Tuple | ast.List):
            for part in shape.elts:
                yield from ((each, Kind.SIZE) for each in _factors(part))
        dtype = call.args[1] if len(call.args) > 1 else words.get("dtype")
        if isinstance(dtype, ast.Name):
            yield dtype.id, Kind.DTYPE


def _factors(node: ast.expr) -> Iterator[str]:
    """The names that a product, quotient or sum is made of, where it is nothing else."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp):
        yield from _factors(node.left)
        yield from _factors(node.right)


def problem(
    kernel: str, kinds: Mapping[str, Kind], given: Mapping[str, tuple[Any, str]]
) -> str | None:
    """What is wrong with the first value that a user gives for a kernel, if one is."""
    for name, (value, place) in given.items():
        kind = kinds.get(name)
        if kind is not None and not kind.admits(value):
            how = f"as in --args '{name}={kind.example}'" if place == "--args" else kind.example
            return (
                f"{place} gives {name}={shown(value)}, but `{name}` of `{kernel}` must be "
                f"{kind.meaning}: {how}"
            )
    return None
