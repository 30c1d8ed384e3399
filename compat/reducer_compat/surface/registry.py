"""Which buffers of the kernel being traced are reducers, and where a call came from."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import ReducerError
from reducer_rules.monoid import Op

_ATTRIBUTE = "_reducer_compat_buffers"
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def _builder() -> Any:
    from tilelang.language.eager.builder import Builder

    return Builder.current()


@dataclass
class Traced:
    """A reducer of the kernel being traced.

    `closed` is true from a finalize in place to the next opening, in the order of the text:
    then the buffer is an ordinary fragment that holds the result.
    """

    data: Any
    op: Op
    closed: bool = False


def register(buffer: Any, op: Op) -> None:
    """Remember a reducer for as long as its kernel is being traced."""
    builder = _builder()
    if builder is not None:
        builder.__dict__.setdefault(_ATTRIBUTE, []).append(Traced(buffer.data, op))


def traced(value: Any) -> Traced | None:
    """The reducer that `value` is, if `T.alloc_reducer` made it in the kernel being traced."""
    builder = _builder()
    if builder is None or not isinstance(value, adapter().tir.Buffer):
        return None
    known = builder.__dict__.get(_ATTRIBUTE, ())
    return next((one for one in known if one.data.same_as(value.data)), None)


def mentions_reducer(value: Any) -> bool:
    """Whether an expression of the kernel being traced loads an element of a reducer."""
    builder = _builder()
    known = builder.__dict__.get(_ATTRIBUTE, ()) if builder is not None else ()
    if not known or not isinstance(value, adapter().tir.PrimExpr):
        return False
    return any(
        any(one.data.same_as(load.buffer.data) for one in known) for load in tree.loads(value)
    )


def kernel_name() -> str:
    """The kernel being traced; empty outside of one."""
    builder = _builder()
    frames = () if builder is None else builder.frames
    return next((str(one.name) for one in frames if type(one).__name__ == "PrimFuncFrame"), "")


def refusal(code: str, message: str, where: str, fix: str) -> ReducerError:
    """An error of the statement at `where`, in the kernel being traced."""
    return ReducerError(code, message, kernel=kernel_name(), location=where, fix=fix)


def location() -> str:
    """``file:line`` of the user's statement: the innermost frame outside this package and TileLang.

    TileLang's own macros, `T.reduce_sum` for one, trace statements from its files.
    """
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_foreign()) and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@lru_cache(maxsize=1)
def _foreign() -> tuple[str, ...]:
    tilelang = os.path.dirname(str(adapter().tilelang.__file__))
    return _PACKAGE, tilelang + os.sep
