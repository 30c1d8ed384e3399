"""Nothing of ours may survive lowering."""

from __future__ import annotations

from typing import Any

from reducer_compat import marker
from reducer_compat.draft import statements
from reducer_compat.errors import ReducerError


def residue(func: Any) -> Any:
    """`func` itself.

    Raises:
        ReducerError: a marker is left.
    """
    for stmt in statements(func):
        found = marker.read(stmt)
        if found is not None:
            raise ReducerError(
                "RC005", f"a {found.kind} of a reducer survived lowering", fix="report this kernel"
            )
    return func
