"""From a name of a module and arguments to a kernel: whichever way the file defines it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .loading import COMPILED, Uncompiled
from .protocol import DTYPE, LANGUAGE, Trouble, short


@dataclass(frozen=True)
class Built:
    """A kernel as `tilelang.compile` takes it, and the pass configs it asks for."""

    prim_func: Any
    pass_configs: Mapping[Any, Any]


def build(module: ModuleType, name: str, arguments: Mapping[str, Any]) -> Built:
    """The kernel that `name` is, or gives when it is called with `arguments`.

    A `@T.prim_func` is one; a `@tilelang.jit` function (eager or lazy, autotuned or not) is
    traced; any other function is called and may return any of these, or compile one: of a test
    that compiles a kernel and launches it, that is the kernel. An autotuned function takes what
    is not given from its first configuration.

    Raises:
        Trouble: there is no such name, an argument is missing, or no kernel comes out.
    """
    try:
        found = getattr(module, name)
    except AttributeError:
        raise Trouble("build", f"running the file does not define `{name}`") from None
    given = {key: _value(value) for key, value in arguments.items()}
    COMPILED.clear()
    try:
        return _kernel(found, name, given)
    except KeyboardInterrupt:
        raise
    # The outcomes of pytest are no Exceptions, and a function may end the process.
    except BaseException as error:
        if COMPILED:
            return _compiled(COMPILED[0])
        if isinstance(error, Trouble):
            raise
        raise Trouble("build", f"`{name}` could not be traced: {short(error)}") from error


def _kernel(found: Any, name: str, given: dict[str, Any]) -> Built:
    if _is_prim_func(found):
        return _with_configs(found, {})
    if isinstance(found, Uncompiled):
        return _compiled(found)
    if hasattr(found, "jit_impl"):
        return _traced(found.jit_impl, name, {**_first_config(found, name, given), **given})
    if hasattr(found, "get_tir"):
        return _traced(found, name, given)
    if not callable(found):
        raise Trouble("build", f"`{name}` gives no kernel, but a {type(found).__name__}")
    _require(inspect.signature(found), name, given)
    # What a function returns takes the same arguments no more.
    return _kernel(found(**_accepted(inspect.signature(found), given)), name, {})


def _compiled(found: Uncompiled) -> Built:
    return _with_configs(found.prim_func, found.pass_configs or {})


def _with_configs(prim_func: Any, pass_configs: Mapping[Any, Any]) -> Built:
    """A kernel, with the pass configs that it carries itself below those it is compiled with."""
    carried = (prim_func.attrs or {}).get("tilelang_pass_configs", {})
    return Built(prim_func, {**dict(carried), **pass_configs})


def _traced(jit: Any, name: str, given: dict[str, Any]) -> Built:
    tensors = tuple(getattr(jit.func, "tensor_args", ()))
    _require(jit.signature, name, given, without=tensors)
    return _with_configs(jit.get_tir(**given), jit.pass_configs or {})


def _first_config(tuned: Any, name: str, given: dict[str, Any]) -> dict[str, Any]:
    configs = tuned.configs
    if callable(configs):
        accepted = _accepted(inspect.signature(configs), given)
        _require(inspect.signature(configs), f"{name}'s configs", accepted)
        configs = configs(**accepted)
    first = dict(next(iter(configs or ()), {}))
    # What the function itself says of a parameter is a better choice than any point of a grid.
    return {name: first[name] for name in _needed(tuned.jit_impl.signature) if name in first}


def _require(
    signature: inspect.Signature, name: str, given: dict[str, Any], without: tuple[str, ...] = ()
) -> None:
    missing = [each for each in _needed(signature) if each not in given and each not in without]
    if missing:
        raise Trouble("missing", f"`{name}` needs {', '.join(missing)}")


def _needed(signature: inspect.Signature) -> list[str]:
    """The parameters without a value of their own; a default of None is none."""
    return [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.default in (parameter.empty, None)
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _accepted(signature: inspect.Signature, given: dict[str, Any]) -> dict[str, Any]:
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return given
    return {key: value for key, value in given.items() if key in signature.parameters}


def _is_prim_func(value: Any) -> bool:
    return hasattr(value, "buffer_map") and hasattr(value, "body")


def _value(value: Any) -> Any:
    """A value from JSON, with our own words for dtypes and the language module."""
    import tilelang.language as language

    if isinstance(value, list):
        return tuple(_value(item) for item in value)
    if not isinstance(value, dict):
        return value
    if LANGUAGE in value:
        return language
    name = value[DTYPE]
    return getattr(language, name, name)
