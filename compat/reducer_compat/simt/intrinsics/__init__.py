"""What the interpreter can call: one module for each family of ops and device templates."""

from . import (
    allreduce,
    assertions,
    asynchronous,
    atomics,
    barriers,
    hints,
    math,
    mbarriers,
    memory_ops,
    scan,
    tensor,
    warp,
)
from .registry import find_call, find_gate

__all__ = [
    "allreduce",
    "assertions",
    "asynchronous",
    "atomics",
    "barriers",
    "find_call",
    "find_gate",
    "hints",
    "math",
    "mbarriers",
    "memory_ops",
    "scan",
    "tensor",
    "warp",
]
