"""Names of ops and device functions, and what runs for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..program import Gate, Value
from ..report import UnsupportedError

if TYPE_CHECKING:
    from ..compile import Compiler

OpBuilder = Callable[["Compiler", Any], Value]
GateMaker = Callable[[], Gate]
"""Compiles a gate, once its place in the program is reached and its variables are bound."""
GateBuilder = Callable[["Compiler", Any], "GateMaker | None"]

_OPS: dict[str, OpBuilder] = {}
_EXTERNS: dict[str, Callable[[Compiler, Extern], Value]] = {}
_OP_GATES: dict[str, GateBuilder] = {}
_EXTERN_GATES: dict[str, Callable[[Compiler, Extern], GateMaker | None]] = {}

#: Modules of ops and functions that are CUDA's: warps of 32 lanes, its tensor cores, its copies.
_CUDA_ONLY = frozenset({"warp", "scan", "tensor", "tma", "mbarriers"})
#: The module of ops that are a function of their operands, whatever thread computes them where,
#: and one of the same kind that stands elsewhere.
_SCALAR_MODULE, _SCALAR_OPS = "math", frozenset({"reinterpret"})
EXTERN_CALLS = ("call_extern", "call_pure_extern", "call_llvm_pure_intrin")
_TEMPLATE = re.compile(r"^(?P<name>[\w:]*\w)\s*(?:<(?P<args>.*)>)?(?:::(?P<method>\w+))?$")


@dataclass(frozen=True)
class Extern:
    """A call of a device function: `name<templates>::method(args)`, or its name alone."""

    text: str
    name: str
    templates: tuple[str, ...]
    method: str
    args: tuple[Any, ...]
    dtype: str

    def integer(self, position: int, default: int | None = None) -> int:
        """A template argument that must be an integer."""
        if position < len(self.templates) and re.fullmatch(r"-?\d+", self.templates[position]):
            return int(self.templates[position])
        if position >= len(self.templates) and default is not None:
            return default
        raise UnsupportedError(f"the function {self.text}")


def op(*names: str) -> Callable[[OpBuilder], OpBuilder]:
    """Registers the builder of an op."""

    def register(build: OpBuilder) -> OpBuilder:
        _OPS.update(dict.fromkeys(names, build))
        return build

    return register


def extern(*names: str) -> Callable[..., Any]:
    """Registers the builder of a device function, by its name without template arguments."""

    def register(build: Callable[[Compiler, Extern], Value]) -> Callable[[Compiler, Extern], Value]:
        _EXTERNS.update(dict.fromkeys(names, build))
        return build

    return register


def op_gate(*names: str) -> Callable[[GateBuilder], GateBuilder]:
    """Registers what an op waits for before it runs."""

    def register(build: GateBuilder) -> GateBuilder:
        _OP_GATES.update(dict.fromkeys(names, build))
        return build

    return register


def extern_gate(*names: str) -> Callable[..., Any]:
    """Registers what a device function waits for before it runs."""

    def register(build: Callable[[Compiler, Extern], GateMaker | None]) -> Any:
        _EXTERN_GATES.update(dict.fromkeys(names, build))
        return build

    return register


def find_call(c: Compiler, node: Any) -> Value:
    """The closure of a call. Raises UnsupportedError naming an op or function that is not known."""
    name = c.tir.op_name(node)
    if name in EXTERN_CALLS:
        call = parse_extern(node)
        build = _EXTERNS.get(call.name)
        if build is None:
            raise UnsupportedError(f"the function {call.text}")
        _refuse_on_hip(c, build, f"the function {call.text}")
        return build(c, call)
    builder = _OPS.get(name)
    if builder is None:
        raise UnsupportedError(f"the op {name}")
    _refuse_on_hip(c, builder, f"the op {name}")
    return builder(c, node)


def is_scalar(name: str) -> bool:
    """Whether an op is known here whose value is a function of those of its operands."""
    found = _OPS.get(name)
    return found is not None and (_is_math(found) or name in _SCALAR_OPS)


def is_scalar_extern(node: Any) -> bool:
    """The same for a call of a device function."""
    found = _EXTERNS.get(parse_extern(node).name)
    return found is not None and _is_math(found)


def _is_math(build: Callable[..., Any]) -> bool:
    return build.__module__.rsplit(".", 1)[-1] == _SCALAR_MODULE


def _refuse_on_hip(c: Compiler, build: Callable[..., Any], what: str) -> None:
    if c.on.hip and build.__module__.rsplit(".", 1)[-1] in _CUDA_ONLY:
        raise UnsupportedError(f"{what} on HIP")


def find_gate(c: Compiler, node: Any) -> GateMaker | None:
    """What a call waits for, or None."""
    name = c.tir.op_name(node)
    if name in EXTERN_CALLS:
        call = parse_extern(node)
        build = _EXTERN_GATES.get(call.name)
        return build(c, call) if build else None
    builder = _OP_GATES.get(name)
    return builder(c, node) if builder else None


def parse_extern(node: Any) -> Extern:
    """The parts of a call of an external function."""
    text = str(node.args[0].value)
    match = _TEMPLATE.match(text)
    args = tuple(node.args[1:])
    if match is None or match["args"] is None:
        return Extern(text, text, (), "", args, str(node.dtype))
    return Extern(
        text,
        match["name"],
        tuple(_split(match["args"])),
        match["method"] or "",
        args,
        str(node.dtype),
    )


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char == "<") - (char == ">")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()] if current.strip() else parts
