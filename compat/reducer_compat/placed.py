"""Errors of the passes say the kernel and a line, also where the pass that raised knows neither.

A pass that sees one statement, or in which TileLang fails, has no line to name: there the first
reducer of the kernel stands for it, which the kernel that was given to TileLang names.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError

#: What this thread gave to a pipeline last: up to 0.1.10 a second call goes on with its result.
_LATEST = threading.local()


def placed(lower: Callable[..., Any]) -> Callable[..., Any]:
    """A part of TileLang's pipeline whose `ReducerError`s name a kernel and a line."""

    @functools.wraps(lower)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        try:
            lowered = lower(*args, **kwargs)
        except ReducerError as error:
            places = _places(given) or _places(getattr(_LATEST, "given", ()))
            kernel = error.kernel or ", ".join(places)
            error.complete(kernel, places.get(kernel.split(", ")[0], ""))
            raise
        _LATEST.given = given
        return lowered

    return run


def _places(given: tuple[Any, ...]) -> dict[str, str]:
    """The kernels with reducers among the arguments of a pipeline, and where their first one is."""
    modules = [one for one in given if isinstance(one, adapter().tvm.IRModule)]
    found = {}
    for name, func in itertools.chain.from_iterable(map(tree.kernels, modules)):
        marks = map(marker.read, tree.walk(func.body))
        first = next((one for one in marks if one is not None and one.kind == "alloc"), None)
        if first is not None:
            found[str(name.name_hint)] = first.text(3)
    return found
