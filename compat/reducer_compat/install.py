"""Put the runtime into TileLang, and take it out again.

What does the work is imported when it is put in place: `REDUCER_COMPAT=off` costs nothing, and
what is wrong with TileLang is said before anything else is asked of the environment.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reducer_compat.adapter import SURFACE_MODULES, adapter
from reducer_compat.choice import Choice, PlanChoice, choices, plans
from reducer_compat.ladder import Descent, descents
from reducer_compat.modes import Mode, mode
from reducer_compat.verdict import Verdict, history

Replace = Callable[[Any, str, Any], None]


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


#: On the `tilelang` module: what was replaced in it. There it is found again by a second copy of
#: this package, as `importlib.reload` or a cleared `sys.modules` makes one.
_HELD = "_reducer_compat_patches"
#: This copy.
_COPY = object()


@dataclass
class _Patches:
    """Attributes that were replaced, so that they can be put back, and the copy that did so."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    saved: list[tuple[Any, str, Any]] = field(default_factory=list)
    copy: object = None

    def __post_init__(self) -> None:
        """A process that is forked while another thread installs would inherit half of it."""
        os.register_at_fork(
            before=self.lock.acquire,
            after_in_parent=self.lock.release,
            after_in_child=self.lock.release,
        )

    def replace(self, owner: Any, name: str, value: Any) -> None:
        self.saved.append((owner, name, owner.__dict__.get(name, self)))
        setattr(owner, name, value)

    def restore(self) -> None:
        while self.saved:
            owner, name, value = self.saved.pop()
            if value is self:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def _patches() -> _Patches:
    """What is replaced in the TileLang of this process; there is one, whatever imports this."""
    found = _found()
    if found is None:
        found = adapter().tilelang.__dict__.setdefault(_HELD, _Patches())
    return found


def _found() -> _Patches | None:
    """The same, where there is one; this imports nothing."""
    return getattr(sys.modules.get("tilelang"), _HELD, None)


def install() -> Status:
    """Put the runtime in place; a second call changes nothing.

    Raises:
        UnsupportedTileLangError: the installed TileLang is unknown or broken.
        ReducerError: `REDUCER_COMPAT` names no mode.
    """
    if mode() is Mode.OFF:
        return status()
    patches = _patches()
    with patches.lock:
        if not patches.saved or patches.copy is not _COPY:
            patches.restore()
            try:
                _patch_all(patches.replace)
            except BaseException:
                patches.restore()
                raise
            patches.copy = _COPY
            _forget_objects()
    return status()


def uninstall() -> Status:
    """Put TileLang back as it was."""
    patches = _found()
    if patches is not None:
        with patches.lock:
            if patches.saved:
                patches.restore()
                _forget_objects()
    return status()


def status() -> Status:
    """What is in place now."""
    chosen = mode()
    patches = _found()
    saved = [] if patches is None else list(patches.saved)
    release = "" if chosen is Mode.OFF and not saved else str(adapter().release)
    names = tuple(
        f"{getattr(owner, '__name__', type(owner).__name__)}.{name}" for owner, name, _ in saved
    )
    kernels = (history(), choices(), descents(), plans())
    return Status(bool(saved), chosen, release, names, *kernels)


def _forget_objects() -> None:
    from reducer_compat.cache import forget_objects

    forget_objects()


def _patch_all(replace: Replace) -> None:
    from reducer_compat import baseline, cache

    _patch_surface(replace)
    _patch_passes(replace)
    cache.patch(replace)
    baseline.patch(replace)


def _patch_surface(replace: Replace) -> None:
    from tilelang.language.eager.builder import Builder

    from reducer_compat.surface import stores

    for module in _surface_modules():
        for name, function in _surface(module).items():
            replace(module, name, function)
    replace(Builder, "eval", stores.evaluate(Builder.eval))
    replace(Builder, "assign_slice", stores.assign_slice(Builder.assign_slice))
    replace(Builder, "aug_assign_slice", stores.aug_assign_slice(Builder.aug_assign_slice))


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


def _patch_passes(replace: Replace) -> None:
    from reducer_compat import retry
    from reducer_compat.pipeline import SPLICES, spliced
    from reducer_compat.placed import placed

    for name, around in SPLICES.items():
        owner = adapter().home(name)
        if owner is not None:
            replace(owner, name, spliced(getattr(owner, name), around))
    for owner, names in adapter().pipelines():
        for name, wrap in zip(names, retry.WRAPS[len(names)], strict=True):
            replace(owner, name, placed(wrap(getattr(owner, name))))
