"""Whether a Python function can come to use a reducer, by the names that it mentions.

The autotuner looks its cache up before it traces anything, so there is no TIR to ask. Followed
are the functions, macros and containers that the code names: globals, closure cells, defaults,
and attributes of modules, classes and objects. Names put together at run time are not seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

#: No kernel has a reducer without it.
_ALLOC = "alloc_reducer"
#: Not followed: a function of theirs uses reducers only where its own name says so.
_LIBRARIES = frozenset({"tilelang", "tvm", "reducer_compat", "torch", "numpy"})
#: Where a wrapper (a decorator, a macro, a partial, a `@tilelang.jit` object) keeps what it wraps.
_WRAPPED = ("__wrapped__", "__func__", "orig_func", "func", "jit_impl")


def mentions_reducer(function: Any) -> bool:
    """Whether `function`, or anything it can reach by name, names `alloc_reducer`."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        here = waiting.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, FunctionType):
            if _names_one(here):
                return True
            waiting.extend(_reached(here))
        waiting.extend(_inside(here))
    return False


def _names_one(function: FunctionType) -> bool:
    return _ALLOC in ({function.__name__} if _library(function) else _names(function.__code__))


def _names(code: CodeType) -> set[str]:
    """The globals and attributes that `code` and the functions inside it name, also as strings."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
        elif isinstance(constant, str):
            found.add(constant)
    return found


def _reached(function: FunctionType) -> Iterator[Any]:
    if _library(function):
        return
    names = _names(function.__code__)
    held = [function.__globals__[name] for name in names if name in function.__globals__]
    held += [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for value in held:
        yield value
        yield from _attributes(value, names)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _attributes(value: Any, names: set[str]) -> Iterator[Any]:
    """What the names mean on a module, a class or an object, without running properties."""
    if _library(value) or isinstance(value, FunctionType):
        return
    missing = object()
    for name in names:
        found = inspect.getattr_static(value, name, missing)
        if found is not missing:
            yield found


def _inside(value: Any) -> Iterator[Any]:
    """What a wrapper wraps, and what a container holds."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, (staticmethod, classmethod, MethodType)):
        yield value.__func__
    elif not isinstance(value, ModuleType):
        kept = getattr(value, "__dict__", {})
        yield from (kept[name] for name in _WRAPPED if name in kept)


def _library(value: Any) -> bool:
    if isinstance(value, ModuleType):
        module = value.__name__
    else:
        module = value.__module__ if isinstance(value, FunctionType) else type(value).__module__
    return str(module).split(".")[0] in _LIBRARIES
