"""How a kernel is launched and compiled: its threads, and the pass configuration around it."""

from __future__ import annotations

import ast

from reducer_migrate.frontend.scopes import Scope
from reducer_migrate.frontend.syntax import argument, called
from reducer_migrate.frontend.values import static_int

#: `T.Kernel` without `threads` launches this many (0.1.8 to 0.1.15).
DEFAULT_THREADS = 128
_DISABLED = ("tl.disable_warp_specialized", "TL_DISABLE_WARP_SPECIALIZED")


def threads_of(kernel: ast.Call, scope: Scope) -> int | None:
    """The thread count of `T.Kernel(...)`; None where it is not static."""
    threads = argument(kernel, len(kernel.args), "threads")
    if threads is None:
        unpacked = any(keyword.arg is None for keyword in kernel.keywords)
        return None if unpacked else DEFAULT_THREADS
    if not isinstance(threads, ast.Tuple | ast.List):
        return static_int(threads, scope)
    total = 1
    for part in threads.elts:
        extent = static_int(part, scope)
        if extent is None:
            return None
        total *= extent
    return total


def warp_specialized(scope: Scope) -> bool | None:
    """False where the kernel is compiled with warp specialization turned off; else None.

    A decorator around it may say so, or every call that compiles it, where nothing else is done
    with it.
    """
    current: Scope | None = scope
    while current is not None:
        if not isinstance(current.node, ast.Module):
            for decorator in current.node.decorator_list:
                if called(decorator) == "jit" and _turns_off(decorator, current):
                    return False
            if current.parent is not None and _compiled_without(current.node.name, current.parent):
                return False
        current = current.parent
    return None


def _compiled_without(name: str, around: Scope) -> bool:
    """Whether all uses of a function are calls that compile it with the switch."""
    calls = [call for call in around.compiles if _is_named(call.args[0], name)]
    if not calls or not all(_turns_off(call, around) for call in calls):
        return False
    return sum(_is_named(node, name) for node in around.nodes) == len(calls)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _turns_off(call: ast.AST, scope: Scope) -> bool:
    """Whether a call that compiles has the switch among its pass configs."""
    if not isinstance(call, ast.Call):
        return False
    return _has_switch(argument(call, len(call.args), "pass_configs"), scope)


def _has_switch(configs: ast.expr | None, scope: Scope) -> bool:
    """Whether a dictionary turns warp specialization off, itself or by one that it takes over."""
    if isinstance(configs, ast.Name):
        value = scope.value(configs.id)
        return not isinstance(value, ast.Name) and _has_switch(value, scope)
    if not isinstance(configs, ast.Dict):
        return False
    off = False
    for key, value in zip(configs.keys, configs.values, strict=True):
        if key is None:
            off = off or _has_switch(value, scope)
        elif _names_switch(key):
            off = isinstance(value, ast.Constant) and value.value is True
    return off


def _names_switch(key: ast.expr | None) -> bool:
    if isinstance(key, ast.Attribute):
        return key.attr in _DISABLED
    return isinstance(key, ast.Constant) and key.value in _DISABLED
