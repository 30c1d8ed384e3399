"""The kernels of a file that have reducers, found in its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from reducer_migrate import frontend
from reducer_migrate.source import Source
from reducer_migrate.verify.expected import Kind, kinds_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Kernel:
    """A function of the module that is a kernel with reducers, or gives one.

    `spans` are its first and last line, decorators included, and those of the macros it calls.
    `parameters` are those of the function that a caller has to know, with None or the expression
    of the default; `positions` all of them, tensors too, as a call passes them; `constants` the
    sizes that an eager kernel takes from `T.const`. `problem` says why it cannot be run, where
    that is plain from the syntax, `inner` names the functions inside it, and `kinds` says what
    its parameters are.
    """

    name: str
    line: int
    spans: tuple[tuple[int, int], ...]
    parameters: dict[str, ast.expr | None] = field(default_factory=dict)
    positions: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    autotuned: bool = False
    problem: str = ""
    inner: tuple[str, ...] = ()
    kinds: dict[str, Kind] = field(default_factory=dict)

    def holds(self, line: int) -> bool:
        """Whether a line lies inside the function, or a macro that it calls."""
        return any(first <= line <= last for first, last in self.spans)

    def answers_to(self, wanted: str) -> bool:
        """Whether FILE::KERNEL means this one: the function's name, or one inside it."""
        return wanted == self.name or wanted in self.inner or wanted.endswith(f".{self.name}")


def kernels_of(source: Source, tree: ast.Module) -> tuple[Kernel, ...]:
    """Every function of the module that allocates a reducer, in order, each once.

    A macro of the module counts for the functions that call it.
    """
    lines = [
        alloc.span.line
        # A tree of its own: the front end puts calls of the language in its usual shape.
        for reducer in frontend.build(source, ast.parse(source.text)).reducers
        for alloc in reducer.timeline.allocs
    ]
    functions = list(_functions(tree))
    owners = [each for each in functions if any(each.holds(line) for line in lines)]
    macros = [each for each in owners if _decorated(each.node, "macro")]
    found = []
    for each in functions:
        called = [macro for macro in macros if _calls(each.node, macro.node.name)]
        if each not in macros and (called or each in owners):
            found.append(_kernel(each, called))
    used = {span for kernel in found for span in kernel.spans}
    return (*found, *(_uncalled(macro) for macro in macros if macro.span not in used))


@dataclass(frozen=True)
class _Owner:
    """A function of the module, and the class that it is a method of."""

    node: FunctionNode
    klass: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last line, decorators included."""
        first = min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)])
        return first, self.node.end_lineno or self.node.lineno

    def holds(self, line: int) -> bool:
        return self.span[0] <= line <= self.span[1]


def _functions(tree: ast.Module) -> Iterator[_Owner]:
    yield from _in_body(tree.body, "")


def _in_body(body: list[ast.stmt], klass: str) -> Iterator[_Owner]:
    for statement in body:
        if isinstance(statement, FunctionNode):
            yield _Owner(statement, klass)
        elif isinstance(statement, ast.ClassDef):
            yield from _in_body(statement.body, f"{klass}{statement.name}.")
        else:
            for name in ("body", "orelse", "finalbody", "handlers"):
                for inner in getattr(statement, name, ()):
                    is_handler = isinstance(inner, ast.excepthandler)
                    yield from _in_body(inner.body if is_handler else [inner], klass)


def _kernel(owner: _Owner, macros: list[_Owner]) -> Kernel:
    node = owner.node
    is_prim_func = _decorated(node, "prim_func")
    tensors = _tensor_parameters(node)
    parameters = {} if is_prim_func else _parameters(node, tensors)
    constants = tuple(_constants(node))
    return Kernel(
        name=owner.klass + node.name,
        line=node.lineno,
        spans=(owner.span, *(macro.span for macro in macros)),
        parameters=parameters,
        positions=tuple(each.arg for each in [*node.args.posonlyargs, *node.args.args]),
        constants=constants,
        autotuned=_decorated(node, "autotune"),
        problem=f"it is a method of class {owner.klass.rstrip('.')}" if owner.klass else "",
        inner=tuple(
            child.name
            for child in ast.walk(node)
            if isinstance(child, FunctionNode) and child is not node
        ),
        kinds={} if is_prim_func else kinds_of(node, constants),
    )


def _uncalled(macro: _Owner) -> Kernel:
    problem = "it is a macro, and no kernel of the file calls it"
    return Kernel(macro.node.name, macro.node.lineno, (macro.span,), problem=problem)


def _decorated(node: FunctionNode, word: str) -> bool:
    """Whether a decorator ends in `word`, called or not: `@T.prim_func`, `@tl.jit(...)`."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name == word:
            return True
    return False


def _calls(node: FunctionNode, name: str) -> bool:
    return any(
        isinstance(child, ast.Call) and getattr(child.func, "id", None) == name
        for child in ast.walk(node)
    )


def _parameters(node: FunctionNode, tensors: set[str]) -> dict[str, ast.expr | None]:
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults))
    defaults += spec.defaults
    pairs = [
        *zip(positional, defaults, strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    return {argument.arg: default for argument, default in pairs if argument.arg not in tensors}


def _tensor_parameters(node: FunctionNode) -> set[str]:
    """The parameters of an eager kernel that are tensors: annotated so, there or in the body."""
    annotated = {
        argument.arg: argument.annotation
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if argument.annotation is not None
    }
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotated[statement.target.id] = statement.annotation
    return {name for name, annotation in annotated.items() if "Tensor" in ast.unparse(annotation)}


def _constants(node: FunctionNode) -> Iterator[str]:
    """The names in the `T.const("M, N")` of a function's own body."""
    for statement in node.body:
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "const":
            for argument in value.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield from argument.value.replace(",", " ").split()
