"""Put the runtime into TileLang, and take it out again.

What does the work is imported when it is put in place: `REDUCER_COMPAT=off` costs nothing, and
what is wrong with TileLang is said before anything else is asked of the environment.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reducer_compat.adapter import SURFACE_MODULES, adapter
from reducer_compat.choice import Choice, PlanChoice, choices, plans
from reducer_compat.ladder import Descent, descents
from reducer_compat.modes import Mode, mode
from reducer_compat.verdict import Verdict, history


@dataclass(frozen=True, slots=True)
class Status:
    """What is in place.

    Attributes:
        installed: whether TileLang is changed right now.
        mode: the mode that the environment names.
        release: the installed TileLang.
        patched: the names that were replaced, ``module.attribute``.
        counts: what the contribution counter said of the latest kernels, oldest first.
        choices: whose lowering the latest kernels got and why, oldest first.
        descents: what the latest kernels were lowered without and why, oldest first.
        plans: how the latest reducers keep their partials and, where that is wide, why.
    """

    installed: bool
    mode: Mode
    release: str
    patched: tuple[str, ...]
    counts: tuple[Verdict, ...]
    choices: tuple[Choice, ...]
    descents: tuple[Descent, ...]
    plans: tuple[PlanChoice, ...]


@dataclass
class _Patches:
    """Attributes that were replaced, so that they can be put back."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    saved: list[tuple[Any, str, Any]] = field(default_factory=list)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        self.saved.append((owner, name, owner.__dict__.get(name, _ABSENT)))
        setattr(owner, name, value)

    def restore(self) -> None:
        while self.saved:
            owner, name, value = self.saved.pop()
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


_ABSENT = object()
_PATCHES = _Patches()


def install() -> Status:
    """Put the runtime in place; a second call changes nothing.

    Raises:
        UnsupportedTileLangError: the installed TileLang is unknown or broken.
        ReducerError: `REDUCER_COMPAT` names no mode.
    """
    if mode() is Mode.OFF:
        return status()
    adapter()
    with _PATCHES.lock:
        if not _PATCHES.saved:
            try:
                _patch_all()
            except BaseException:
                _PATCHES.restore()
                raise
            _forget_objects()
    return status()


def uninstall() -> Status:
    """Put TileLang back as it was."""
    with _PATCHES.lock:
        if _PATCHES.saved:
            _PATCHES.restore()
            _forget_objects()
    return status()


def status() -> Status:
    """What is in place now."""
    chosen = mode()
    release = "" if chosen is Mode.OFF and not _PATCHES.saved else str(adapter().release)
    names = tuple(
        f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
        for owner, name, _ in _PATCHES.saved
    )
    kernels = (history(), choices(), descents(), plans())
    return Status(bool(_PATCHES.saved), chosen, release, names, *kernels)


def _forget_objects() -> None:
    from reducer_compat.cache import forget_objects

    forget_objects()


def _patch_all() -> None:
    from reducer_compat import baseline, cache

    _patch_surface()
    _patch_passes()
    cache.patch(_PATCHES.replace)
    baseline.patch(_PATCHES.replace)


def _patch_surface() -> None:
    from tilelang.language.eager.builder import Builder

    from reducer_compat.surface import stores

    for module in _surface_modules():
        for name, function in _surface(module).items():
            _PATCHES.replace(module, name, function)
    _PATCHES.replace(Builder, "eval", stores.evaluate(Builder.eval))
    _PATCHES.replace(Builder, "assign_slice", stores.assign_slice(Builder.assign_slice))
    _PATCHES.replace(Builder, "aug_assign_slice", stores.aug_assign_slice(Builder.aug_assign_slice))


def _surface_modules() -> list[Any]:
    found = []
    for name in SURFACE_MODULES:
        try:
            found.append(importlib.import_module(name))
        except ModuleNotFoundError:
            continue
    return found


def _surface(module: Any) -> dict[str, Callable[..., Any]]:
    from reducer_compat.surface import language
    from reducer_rules.timeline import InitForm

    ours = (
        language.alloc_reducer,
        language.reducer_init,
        language.reducer_update,
        language.finalize_reducer,
    )
    native = {f.__name__: getattr(module, f.__name__, None) for f in ours}
    return {
        **{f.__name__: language.choosing(f, native[f.__name__]) for f in ours},
        "clear": language.opening(module.clear, InitForm.CLEAR),
        "fill": language.opening(module.fill, InitForm.FILL),
    }


def _patch_passes() -> None:
    import tilelang.transform as transform

    from reducer_compat import retry
    from reducer_compat.pipeline import SPLICES, spliced
    from reducer_compat.placed import placed

    for name, around in SPLICES.items():
        _PATCHES.replace(transform, name, spliced(getattr(transform, name), around))
    for owner, names in adapter().pipelines():
        for name, wrap in zip(names, retry.WRAPS[len(names)], strict=True):
            _PATCHES.replace(owner, name, placed(wrap(getattr(owner, name))))
