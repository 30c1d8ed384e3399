"""What the interpreter can call: one module for each family of ops and device templates."""

from . import allreduce, asynchronous, atomics, barriers, hints, math, memory_ops, scan, warp
from .registry import find_call, find_gate

__all__ = [
    "allreduce",
    "asynchronous",
    "atomics",
    "barriers",
    "find_call",
    "find_gate",
    "hints",
    "math",
    "memory_ops",
    "scan",
    "warp",
]
