"""Which buffers of the kernel being traced are reducers, and where a call came from."""

from __future__ import annotations

import sys
from typing import Any

from reducer_compat.adapter import adapter

_ATTRIBUTE = "_reducer_compat_buffers"


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


def location(depth: int = 2) -> str:
    """``file:line`` of the frame `depth` calls above this one."""
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
