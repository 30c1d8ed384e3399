"""Assertions of the kernel itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..program import Value
from ..wave import Wave
from .registry import op

if TYPE_CHECKING:
    from ..compile import Compiler


def check(wave: Wave, truth: Any, message: str) -> None:
    """Reports the lanes in which an assertion does not hold."""
    failed = np.logical_not(np.broadcast_to(truth, (wave.n,)))
    wave.m.fault(wave, "assertion", failed, lambda p, e: message)


@op("tl.device_assert", "tl.device_assert_with_msg")
def _device_assert(c: Compiler, node: Any) -> Value:
    condition = c.expr(node.args[0])
    message = str(node.args[1].value) if len(node.args) > 1 else "does not hold"
    return lambda w: check(w, condition(w), message)
