"""What waits until the layouts of a kernel are known, and depends on nothing else: one walk.

The marks of `split` and `halving` go, copies get wider pieces (`pieces`), and every finalize
mentions its destination for the counter (`prove`).
"""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.passes.halving import on_target
from reducer_compat.passes.pieces import widened
from reducer_compat.passes.prove.tags import pin
from reducer_compat.passes.split import apart


def settled(func: Any) -> Any:
    """The kernel with all of it."""
    return tree.rewritten_by(func, apart(), on_target(func), widened(func), pin())
