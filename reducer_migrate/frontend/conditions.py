"""When a condition is decided, and for whom: at compile time, per block, or per thread."""

from __future__ import annotations

import ast
import builtins
from functools import reduce

from reducer_migrate.frontend.buffers import Buffer
from reducer_migrate.frontend.scopes import Scope, parameters
from reducer_migrate.frontend.syntax import called
from reducer_rules.timeline import Condition

_ORDER = (Condition.COMPILE_TIME, Condition.UNIFORM, Condition.UNKNOWN, Condition.THREAD)
_THREAD_CALLS = frozenset(
    {"get_thread_binding", "get_thread_bindings", "get_lane_idx", "get_warp_idx"}
    | {"get_warp_idx_sync", "get_warp_group_idx", "shuffle_elect"}
)
_UNIFORM_CALLS = frozenset(
    ["get_block_binding", "get_block_bindings", "const", "dynamic", "symbolic", "ceildiv"]
)
#: Buffers every thread of a block sees alike; a `local` may differ from thread to thread.
_PER_THREAD = frozenset({"alloc_local", "alloc_var"})
_CONSTANT_ANNOTATIONS = frozenset({"int", "float", "str", "bool", "dtype", "Callable"})


def join(*conditions: Condition) -> Condition:
    """The condition of an expression over parts with these."""
    return max(conditions, key=_ORDER.index, default=Condition.COMPILE_TIME)


class Conditions:
    """Classifies expressions of one traced function, following its locals as they are bound."""

    def __init__(self, scope: Scope, buffers: dict[str, Buffer]) -> None:
        self._scope = scope
        self._buffers = buffers
        self._local: dict[str, Condition] = {}
        if not isinstance(scope.node, ast.Module):
            for parameter in parameters(scope.node):
                self._local[parameter.arg] = self._parameter(parameter)

    def bind(self, name: str, condition: Condition, *, again: bool = False) -> None:
        """Record what a local name holds; `again` joins it with what it held before."""
        if again and name in self._local:
            condition = join(condition, self._local[name])
        self._local[name] = condition

    def of(self, node: ast.expr | None) -> Condition:
        """Classify an expression."""
        if node is None or isinstance(node, ast.Constant):
            return Condition.COMPILE_TIME
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if _never_traced(node):
            return Condition.COMPILE_TIME
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Lambda):
            return Condition.UNKNOWN
        return self._all(node)

    def _all(self, node: ast.AST) -> Condition:
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return reduce(join, map(self.of, parts), Condition.COMPILE_TIME)

    def _name(self, name: str) -> Condition:
        if name in self._local:
            return self._local[name]
        owner = self._scope.lookup(name)
        if owner is None:
            known = hasattr(builtins, name) or self._scope.parent is not None
            return Condition.COMPILE_TIME if known else Condition.UNKNOWN
        if owner is self._scope and owner.parent is not None:
            return Condition.UNKNOWN
        return Condition.UNKNOWN if owner.is_traced else Condition.COMPILE_TIME

    def _subscript(self, node: ast.Subscript) -> Condition:
        index = self.of(node.slice)
        if isinstance(node.value, ast.Name) and node.value.id in self._buffers:
            kind = self._buffers[node.value.id].kind
            floor = Condition.UNKNOWN if kind in _PER_THREAD else Condition.UNIFORM
            return join(index, floor)
        return join(index, self.of(node.value))

    def _call(self, node: ast.Call) -> Condition:
        name = called(node)
        if name in _THREAD_CALLS:
            return Condition.THREAD
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        arguments = reduce(join, map(self.of, values), Condition.COMPILE_TIME)
        if name in _UNIFORM_CALLS and name != "ceildiv":
            return join(arguments, Condition.UNIFORM)
        if isinstance(node.func, ast.Attribute):
            return join(arguments, self.of(node.func.value))
        known = hasattr(builtins, name or "") or arguments is Condition.COMPILE_TIME
        return arguments if known else join(arguments, Condition.UNKNOWN)

    def _parameter(self, parameter: ast.arg) -> Condition:
        """What a parameter of a traced function holds."""
        annotation = parameter.annotation
        if parameter.arg in self._buffers:
            return Condition.UNIFORM
        if annotation is not None and _last(annotation) in _CONSTANT_ANNOTATIONS:
            return Condition.COMPILE_TIME
        if self._scope.is_eager:
            return Condition.COMPILE_TIME if annotation is None else Condition.UNIFORM
        if annotation is not None:
            return Condition.UNIFORM
        return Condition.COMPILE_TIME if not self._scope.is_traced else Condition.UNKNOWN


def _last(annotation: ast.expr) -> str | None:
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return annotation.id if isinstance(annotation, ast.Name) else None


def _never_traced(node: ast.expr) -> bool:
    """`x is None` and `isinstance(x, ...)` are Python's to decide, whatever `x` is."""
    if isinstance(node, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    return called(node) in ("isinstance", "hasattr", "callable")
