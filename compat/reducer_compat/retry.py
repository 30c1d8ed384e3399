"""Go down the ladder: lower again without a feature of TileLang's where it loses a reducer.

Up to 0.1.10 TileLang lowers in two halves, each called by name; what fails in the second is
lowered again from the start of the first.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reducer_compat import ladder, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import CopyError, NarrowError, ReducerError, UnfitError, said
from reducer_compat.ladder import TOP, Descent, Feature, Rung
from reducer_compat.passes.copies import WITHOUT_TMA
from reducer_compat.passes.participants import is_pipelined
from reducer_compat.passes.plan import forced_wide
from reducer_compat.passes.recognize import uses_reducers
from reducer_compat.passes.specialized import DISABLED
from reducer_compat.passes.split import has_tma, may_specialize

Lower = Callable[..., Any]
#: TileLang's pass config for a feature that is given up.
WITHOUT_SPECIALIZATION = {DISABLED: True}
#: Errors of ours that another lowering may not show.
_MENDABLE = frozenset({"RC003", "RC005", "RC006"})
#: On a kernel between the two halves: the number under which its first half is kept.
_HALF = "reducer_compat.half"
#: First halves that are kept. One whose second half never runs stays; the oldest go first.
_MOST_HALVES = 64
_HALVES: dict[int, _Half] = {}
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class _Half:
    """A first half: how it is lowered again, and the rung that it stands on."""

    lower: Callable[[], Any]
    given: tuple[Any, ...]
    rung: Rung


def retried(lower: Lower) -> Lower:
    """A whole pipeline of TileLang that goes down the ladder where it has to."""

    @functools.wraps(lower)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        lowered, rung = _descend(lambda: lower(*args, **kwargs), given, TOP)
        ladder.remember(rung)
        return lowered

    return run


def begun(lower: Lower) -> Lower:
    """The first half of a pipeline, which the second may have to start again."""

    @functools.wraps(lower)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        again = functools.partial(lower, *args, **kwargs)
        mod, rung = _descend(again, given, TOP)
        mine = [str(name.name_hint) for name, _ in _with_reducers(given)]
        return _kept(mod, mine, _Half(again, given, rung))

    return run


def ended(optimize: Lower) -> Lower:
    """The second half of a pipeline."""

    @functools.wraps(optimize)
    def run(mod: Any, *args: Any, **kwargs: Any) -> Any:
        mod, half = _taken(mod)
        if half is None:
            return optimize(mod, *args, **kwargs)
        first = [mod]

        def both() -> Any:
            return optimize(first.pop() if first else half.lower(), *args, **kwargs)

        lowered, rung = _descend(both, half.given, half.rung)
        ladder.remember(rung)
        return lowered

    return run


#: What goes around the parts of a pipeline, by their number.
WRAPS: dict[int, tuple[Callable[[Lower], Lower], ...]] = {1: (retried,), 2: (begun, ended)}


def _kept(mod: Any, mine: Sequence[str], half: _Half) -> Any:
    """`mod` with its kernels with reducers naming the half that made them."""
    if not mine:
        return mod
    number = next(_NUMBERS)
    _HALVES[number] = half
    _HALVES.pop(number - _MOST_HALVES, None)
    functions = {
        name: func.with_attr(_HALF, number) if str(name.name_hint) in mine else func
        for name, func in mod.functions.items()
    }
    return adapter().tvm.IRModule(functions, attrs=mod.attrs)


def _taken(mod: Any) -> tuple[Any, _Half | None]:
    """A module without what `_kept` wrote, and what that named."""
    half = None
    functions = {}
    for name, func in mod.functions.items():
        if func.attrs and _HALF in func.attrs:
            half = _HALVES.pop(int(func.attrs[_HALF]), half)
            func = func.without_attr(_HALF)
        functions[name] = func
    return (mod, None) if half is None else (adapter().tvm.IRModule(functions, mod.attrs), half)


def _descend(lower: Callable[[], Any], given: tuple[Any, ...], rung: Rung) -> tuple[Any, Rung]:
    """What `lower` makes of `given`, on the first rung from `rung` on where it succeeds.

    Raises:
        Exception: what it raised on the last rung.
    """

    @functools.cache
    def names() -> tuple[str, ...]:
        return tuple(str(name.name_hint) for name, _ in _with_reducers(given))

    while True:
        with ladder.standing_on(rung, names) as used:
            try:
                with _configured(rung):
                    return lower(), rung
            except Exception as error:
                descent = _next(error, given, used)
                if descent is None:
                    _refuse(error, given)
                    raise
        rung = ladder.below(rung, descent)


def _next(error: Exception, given: tuple[Any, ...], used: set[Feature]) -> Descent | None:
    """What to give up because of an error; None where nothing that is left would help."""
    if isinstance(error, ReducerError) and error.code not in _MENDABLE:
        return None
    kernels = _with_reducers(given)
    if not kernels:
        return None
    suspects = (one for one in _suspects(error) if not ladder.gave_up(one))
    feature = next((one for one in suspects if one in used or _has(one, kernels, given)), None)
    if feature is None:
        return None
    return Descent(_names(kernels), feature, _reason(error))


def _refuse(error: Exception, given: tuple[Any, ...]) -> None:
    """Say that a kernel with reducers is beyond TileLang, where it was TileLang that failed.

    Raises:
        ReducerError: RC003.
    """
    kernels = [] if isinstance(error, ReducerError) else _with_reducers(given)
    if kernels:
        raise ReducerError(
            "RC003",
            f"TileLang cannot lower this kernel: {said(error)}",
            kernel=_names(kernels),
            fix="try it without its reducers: TileLang has to lower what is left",
        ) from error


def _reason(error: Exception) -> str:
    """Why a feature is given up, in one line."""
    if isinstance(error, UnfitError):
        return error.message
    if isinstance(error, ReducerError):
        return str(error).splitlines()[0]
    return f"TileLang: {said(error)}"


def _names(kernels: list[tuple[Any, Any]]) -> str:
    return ", ".join(str(name.name_hint) for name, _ in kernels)


def _suspects(error: Exception) -> tuple[Feature, ...]:
    """The features that may be to blame, those first that are given up first."""
    if isinstance(error, UnfitError):
        return (error.feature,)
    if isinstance(error, CopyError):
        return (Feature.TMA,)
    if isinstance(error, NarrowError):
        return (Feature.NARROW,)
    return (Feature.NATIVE, Feature.NARROW, Feature.SPECIALIZED, Feature.TMA, Feature.PIPELINED)


def _has(feature: Feature, kernels: list[tuple[Any, Any]], given: tuple[Any, ...]) -> bool:
    """Whether the lowering of kernels may have a feature."""
    if feature is Feature.NATIVE:
        return False
    if feature is Feature.NARROW:
        return not forced_wide()
    if feature is Feature.SPECIALIZED:
        pipelined = adapter().pipelines_late or _pipelines(kernels)
        return pipelined and any(may_specialize(target) for target in _targets(given))
    if feature is Feature.TMA:
        return any(map(has_tma, _targets(given)))
    return _pipelines(kernels)


def _pipelines(kernels: list[tuple[Any, Any]]) -> bool:
    return any(is_pipelined(stmt) for _, func in kernels for stmt in tree.walk(func.body))


def _targets(given: Sequence[Any]) -> list[Any]:
    return [one for one in given if isinstance(one, adapter().tvm.target.Target)]


def _with_reducers(given: Sequence[Any]) -> list[tuple[Any, Any]]:
    """The kernels with reducers of ours in what a pipeline was given."""
    modules = [one for one in given if isinstance(one, adapter().tvm.IRModule)]
    return [pair for mod in modules for pair in tree.kernels(mod) if uses_reducers(pair[1])]


def _configured(rung: Rung) -> Any:
    """The current `PassContext`, without what is given up."""
    wanted: dict[str, bool] = {}
    for descent in rung:
        if descent.feature is Feature.TMA:
            wanted |= WITHOUT_TMA
        if descent.feature in (Feature.SPECIALIZED, Feature.PIPELINED):
            # 0.1.8 makes the barriers of tensor copies where it specializes warps, and only there.
            both = adapter().pipelines_late
            wanted |= WITHOUT_TMA if both else WITHOUT_SPECIALIZATION
    if not wanted:
        return contextlib.nullcontext()
    context = adapter().tvm.transform.PassContext
    current = context.current()
    return context(
        opt_level=current.opt_level,
        required_pass=current.required_pass,
        disabled_pass=current.disabled_pass,
        instruments=current.instruments,
        config={**dict(current.config.items()), **wanted},
    )
