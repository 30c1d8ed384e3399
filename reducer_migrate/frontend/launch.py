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
    """False where a decorator around the kernel turns warp specialization off; else None."""
    current: Scope | None = scope
    while current is not None:
        if not isinstance(current.node, ast.Module):
            for decorator in current.node.decorator_list:
                if isinstance(decorator, ast.Call) and _turns_off(decorator, current):
                    return False
        current = current.parent
    return None


def _turns_off(decorator: ast.Call, scope: Scope) -> bool:
    if called(decorator) != "jit":
        return False
    configs = argument(decorator, len(decorator.args), "pass_configs")
    if isinstance(configs, ast.Name):
        configs = scope.value(configs.id)
    if not isinstance(configs, ast.Dict):
        return False
    return any(
        _names_switch(key) and isinstance(value, ast.Constant) and value.value is True
        for key, value in zip(configs.keys, configs.values, strict=True)
    )


def _names_switch(key: ast.expr | None) -> bool:
    if isinstance(key, ast.Attribute):
        return key.attr in _DISABLED
    return isinstance(key, ast.Constant) and key.value in _DISABLED
