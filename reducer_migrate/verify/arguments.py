"""Where the arguments of a kernel come from: what the user says, and what the file says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reducer_migrate.verify.kernels import FunctionNode, Kernel
from reducer_migrate.verify.literals import (
    LANGUAGE,
    UnknownValueError,
    bindings,
    parser_defaults,
    shown,
    value_of,
)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a kernel and where each was found; `missing` lists those that were not.

    `sizes` are the values that no parameter takes: they may name symbolic dimensions.
    """

    values: dict[str, Any]
    origins: dict[str, str]
    missing: tuple[str, ...]
    sizes: dict[str, int]

    @property
    def passed(self) -> dict[str, Any]:
        """Those that a call has to pass: the function knows its defaults itself."""
        return {k: v for k, v in self.values.items() if self.origins[k] != "default"}

    def __str__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self.passed.items())


class ArgumentFinder:
    """Finds the arguments of the kernels of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        defaults = {"argparse defaults": parser_defaults(tree)}
        self._constants = bindings(tree.body, defaults)

    def of(self, kernel: Kernel, given: Mapping[str, tuple[Any, str]]) -> Arguments:
        """The arguments of one kernel.

        `given` is what the user says: values by name, with the place. It goes before a call in
        the file, that before a default of the parameter's own, and that before a constant of the
        file with the parameter's name.
        """
        wanted = dict.fromkeys([*kernel.parameters, *kernel.constants])
        called = self._called(kernel, [*wanted])
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        missing = []
        for name in wanted:
            found = self._find(name, kernel, {**called, **given})
            if found is not None:
                values[name], origins[name] = found
            elif kernel.parameters.get(name) is None and not kernel.autotuned:
                missing.append(name)
        sizes = {
            name: value
            for name, (value, _) in given.items()
            if isinstance(value, int) and name not in wanted
        }
        return Arguments(values, origins, tuple(missing), sizes)

    def _find(
        self, name: str, kernel: Kernel, said: Mapping[str, tuple[Any, str]]
    ) -> tuple[Any, str] | None:
        if name in said:
            return said[name]
        default = kernel.parameters.get(name)
        if default is not None:
            try:
                return value_of(default, self._constants), "default"
            except UnknownValueError:
                return None
        if name in self._constants:
            return self._constants[name], "constant"
        return ({LANGUAGE: True}, "language") if name == "T" else None

    def _called(self, kernel: Kernel, names: list[str]) -> dict[str, tuple[Any, str]]:
        """The arguments of the call in the file that states most of those that are needed."""
        best: dict[str, tuple[Any, str]] = {}
        for call, known in self._calls(kernel):
            found: dict[str, tuple[Any, str]] = {}
            place = f"line {call.lineno}"
            pairs = [*zip(kernel.positions, call.args, strict=False)]
            pairs += [(str(keyword.arg), keyword.value) for keyword in call.keywords]
            for name, node in pairs:
                if name not in names:
                    continue
                try:
                    found[name] = value_of(node, known), place
                except UnknownValueError:
                    continue
            if len(found) > len(best):
                best = found
        return best

    def _calls(self, kernel: Kernel) -> Iterator[tuple[ast.Call, dict[str, Any]]]:
        """Every call of the kernel's function, with what the scope around it binds to values."""
        yield from _calls_in(self._tree.body, self._constants, kernel.name)


def _calls_in(
    body: list[ast.stmt], known: dict[str, Any], name: str
) -> Iterator[tuple[ast.Call, dict[str, Any]]]:
    for statement in body:
        if isinstance(statement, FunctionNode):
            if statement.name == name:
                continue
            yield from _calls_in(statement.body, bindings(statement.body, known), name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and _calls_function(node.func, name):
                yield node, known


def _calls_function(func: ast.expr, name: str) -> bool:
    """`name(...)`, or a method of it: `name.compile(...)`, `name.get_tir(...)`."""
    if isinstance(func, ast.Attribute):
        func = func.value if func.attr in ("compile", "get_tir", "get_kernel_source") else func
    return isinstance(func, ast.Name) and func.id == name
