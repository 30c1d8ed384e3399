"""Keep TileLang's caches from serving a reducer kernel that another lowering compiled.

Three caches hold compiled kernels: the kernel cache (memory and disk, one key), the
autotuner's, and one in every `@tilelang.jit` object.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import weakref
from collections.abc import Callable
from typing import Any

from reducer_compat.modes import mode
from reducer_compat.passes.collect import has_markers

Replace = Callable[[Any, str, Any], None]
#: Live `@tilelang.jit` objects by identity: they are dataclasses, which have no hash.
_OBJECTS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
#: The caches that a `@tilelang.jit` object may carry, by attribute.
_OBJECT_CACHES = ("_kernel_cache", "_tuner_cache")
#: On an object: the salt under which its caches were filled.
_FILLED_UNDER = "_reducer_compat_salt"


def salt() -> str:
    """What tells our lowering from TileLang's and from other versions and modes of ours."""
    from reducer_compat import __version__

    return f"reducer_compat {__version__} {mode()} {os.environ.get('REDUCER_COMPAT_PLAN', '')}"


def salted(key: str) -> str:
    return hashlib.sha256(f"{key} {salt()}".encode()).hexdigest()


def patch(replace: Replace) -> None:
    """Salt the keys of all three caches."""
    from tilelang.autotuner.tuner import AutoTuner
    from tilelang.cache.kernel_cache import KernelCache
    from tilelang.jit import JITImpl

    replace(KernelCache, "_generate_key", _kernel_key(KernelCache._generate_key))
    replace(AutoTuner, "generate_cache_key", _tuner_key(AutoTuner.generate_cache_key))
    replace(JITImpl, "__post_init__", _remembering(JITImpl.__post_init__))
    replace(JITImpl, "__call__", _current(JITImpl.__call__))


def forget_objects() -> None:
    """Empty the caches of the live `@tilelang.jit` objects."""
    for held in list(_OBJECTS.values()):
        _forget(held)


def _forget(held: Any) -> None:
    for name in _OBJECT_CACHES:
        getattr(held, name, {}).clear()
    by_call = getattr(held, "_call_form_cache", None)
    if by_call is not None:
        held._call_form_cache = type(by_call)()
    held.__dict__.pop(_FILLED_UNDER, None)


def _kernel_key(original: Callable[..., str]) -> Callable[..., str]:
    def call(self: Any, func: Any, *args: Any, **kwargs: Any) -> str:
        key = original(self, func, *args, **kwargs)
        return salted(key) if _uses_reducers(func) else key

    return call


def _uses_reducers(func: Any) -> bool:
    return hasattr(func, "body") and has_markers(func)


def _tuner_key(original: Callable[..., str | None]) -> Callable[..., str | None]:
    def call(self: Any, *args: Any, **kwargs: Any) -> str | None:
        key = original(self, *args, **kwargs)
        if key is None or "reducer" not in inspect.getsource(self.fn):
            return key
        return salted(key)

    return call


def _remembering(original: Callable[..., None]) -> Callable[..., None]:
    def call(self: Any) -> None:
        original(self)
        _OBJECTS[id(self)] = self

    return call


def _current(original: Callable[..., Any]) -> Callable[..., Any]:
    """A call that first drops what was compiled before us, or under another mode of ours."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        now = salt()
        if self.__dict__.get(_FILLED_UNDER) != now:
            _forget(self)
            _OBJECTS[id(self)] = self
            self.__dict__[_FILLED_UNDER] = now
        return original(self, *args, **kwargs)

    return call
