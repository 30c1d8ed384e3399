"""Take the software pipelines from the loops of a kernel, where they were given up."""

from __future__ import annotations

from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.participants import is_pipelined

#: What the names of annotations of `T.Pipelined` begin with.
_NAMES = ("num_stages", "tl_pipeline_")


def unpipeline(func: Any) -> Any:
    """The kernel with its pipelined loops serial."""
    return tree.rewritten(func, _enter)


def _enter(stmt: Any) -> Any:
    if not is_pipelined(stmt):
        return None
    kept = {k: v for k, v in stmt.annotations.items() if not str(k).startswith(_NAMES)}
    return adapter().for_loop(stmt, body=tree.transform(stmt.body, _enter), annotations=kept)
