"""Keep TileLang's caches from serving a reducer kernel that another lowering compiled.

| cache | its key | here |
|---|---|---|
| kernels, in memory and on disk | TIR, target, configs | salted where there are reducers |
| the autotuner's, in memory and on disk | source text, configs | salted where one is mentioned |
| 0.1.11's frontend cache, on disk | source text, arguments | salted where one is mentioned |
| kernels and traces of a `@tilelang.jit` object | arguments | emptied when the salt changes |
| results of an `@autotune` object | arguments | emptied when the salt changes |

The salt names the version, sources, mode and plan of this package. Keys of kernels without
reducers stay as they are.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reducer_compat.mentions import mentions_reducer
from reducer_compat.modes import PLAN_VARIABLE, VARIABLE, mode
from reducer_compat.passes.recognize import uses_reducers

Replace = Callable[[Any, str, Any], None]
#: What decides whether the contents of an object's caches are still good.
State = tuple[object, str, str]

#: Live objects whose caches were filled under us, by identity: dataclasses have no hash.
_OBJECTS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
#: On an object: the state under which its caches were filled.
_FILLED_UNDER = "_reducer_compat_state"
#: What a key of 0.1.11's frontend cache is made of.
_BY_SOURCE = "_frontend_cache_key_data"
#: Installing and uninstalling begin a new one, which no other copy of this module has.
_generation = object()


@functools.lru_cache(maxsize=1)
def version() -> str:
    """The version of this package and a digest of what it lowers by.

    The digest keeps two checkouts of one version apart.
    """
    from reducer_compat import __version__

    digest = hashlib.sha256()
    package = Path(__file__).parent
    parts = [package.glob("*.py"), package.glob("passes/**/*.py"), package.glob("surface/*.py")]
    for path in sorted(itertools.chain(*parts)):
        digest.update(str(path.relative_to(package)).encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:16]}"


def salt() -> str:
    """What tells our lowering from TileLang's and from other versions and modes of ours."""
    return f"reducer_compat {version()} {mode()} {os.environ.get(PLAN_VARIABLE, '')}"


def salted(key: str) -> str:
    return hashlib.sha256(f"{key} {salt()}".encode()).hexdigest()


def patch(replace: Replace) -> None:
    """Make every cache tell our kernels from others."""
    from tilelang.autotuner.tuner import AutoTuneImpl, AutoTuner
    from tilelang.cache.kernel_cache import KernelCache
    from tilelang.jit import JITImpl

    replace(KernelCache, "_generate_key", _kernel_key(KernelCache._generate_key))
    replace(AutoTuner, "generate_cache_key", _tuner_key(AutoTuner.generate_cache_key))
    if hasattr(JITImpl, _BY_SOURCE):
        replace(JITImpl, _BY_SOURCE, _source_key(getattr(JITImpl, _BY_SOURCE)))
    replace(JITImpl, "__call__", _current(JITImpl.__call__))
    replace(JITImpl, "get_tir", _current(JITImpl.get_tir))
    replace(AutoTuneImpl, "__call__", _current(AutoTuneImpl.__call__))


def forget_objects() -> None:
    """Empty the caches of the live objects that were filled under us, and of those being filled."""
    global _generation
    _generation = object()
    for held in list(_OBJECTS.values()):
        _forget(held)


def _state() -> State:
    environ = os.environ
    return _generation, environ.get(VARIABLE, ""), environ.get(PLAN_VARIABLE, "")


def _forget(held: Any) -> None:
    """Empty what an object remembers by its arguments alone; it is looked up by key again."""
    for name in ("_kernel_cache", "_call_form_cache", "_tuner_cache"):
        remembered = held.__dict__.get(name)
        if remembered is not None:
            held.__dict__[name] = type(remembered)()
    traced = getattr(held.__dict__.get("func"), "p1_cache", None)
    if traced is not None:
        traced.clear()
    held.__dict__.pop(_FILLED_UNDER, None)


def _kernel_key(original: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(original)
    def call(self: Any, func: Any, *args: Any, **kwargs: Any) -> str:
        key = original(self, func, *args, **kwargs)
        return salted(key) if uses_reducers(func) else key

    return call


def _tuner_key(original: Callable[..., str | None]) -> Callable[..., str | None]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> str | None:
        key = original(self, *args, **kwargs)
        return salted(key) if key is not None and mentions_reducer(self.fn) else key

    return call


def _source_key(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        parts = original(self, *args, **kwargs)
        return {**parts, "lowering": salt()} if mentions_reducer(self.func) else parts

    return call


def _current(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that first drops what was traced or compiled before us, or under another mode.

    What it fills while the state changes under it, in another thread, is dropped afterwards.
    """

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = _state()
        if self.__dict__.get(_FILLED_UNDER) != state:
            _forget(self)
            _OBJECTS[id(self)] = self
            self.__dict__[_FILLED_UNDER] = state
        try:
            return original(self, *args, **kwargs)
        finally:
            if _state() != state:
                _forget(self)

    return call
