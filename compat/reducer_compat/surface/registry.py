"""Which buffers of the kernel being traced are reducers, and where a call came from."""

from __future__ import annotations

import os
import sys
from typing import Any

from reducer_compat.adapter import adapter

_ATTRIBUTE = "_reducer_compat_buffers"
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def _builder() -> Any:
    from tilelang.language.eager.builder import Builder

    return Builder.current()


def register(buffer: Any) -> None:
    """Remember a reducer for as long as its kernel is being traced."""
    builder = _builder()
    if builder is not None:
        builder.__dict__.setdefault(_ATTRIBUTE, []).append(buffer.data)


def is_reducer(value: Any) -> bool:
    """Whether `value` is a buffer that `T.alloc_reducer` made in the kernel being traced."""
    builder = _builder()
    if builder is None or not isinstance(value, adapter().tir.Buffer):
        return False
    return any(data.same_as(value.data) for data in builder.__dict__.get(_ATTRIBUTE, ()))


def location() -> str:
    """``file:line`` of the innermost frame outside this package: the statement of the user."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
