"""What the interpreter can call: one module for each family of ops and device templates."""

from . import (
    allreduce,
    assertions,
    atomics,
    barriers,
    cp_async,
    hints,
    math,
    mbarriers,
    memory_ops,
    scan,
    tensor,
    tma,
    warp,
)
from .registry import find_call, find_gate, is_scalar, is_scalar_extern

__all__ = [
    "allreduce",
    "assertions",
    "atomics",
    "barriers",
    "cp_async",
    "find_call",
    "find_gate",
    "hints",
    "is_scalar",
    "is_scalar_extern",
    "math",
    "mbarriers",
    "memory_ops",
    "scan",
    "tensor",
    "tma",
    "warp",
]
