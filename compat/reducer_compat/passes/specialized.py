"""What warp specialization leaves in a kernel, and how TileLang is told not to."""

from __future__ import annotations

from typing import Any

from reducer_compat.adapter import adapter
from reducer_compat.draft import statements

#: The attribute that TileLang puts around the two branches of a warp-specialized kernel.
SCOPE = "kWarpSpecializationScope"
#: TileLang's pass config that turns it off.
DISABLED = "tl.disable_warp_specialized"


def is_scope(stmt: Any) -> bool:
    """Whether a statement holds the two branches of a warp-specialized kernel."""
    return type(stmt) is adapter().tir.AttrStmt and stmt.attr_key == SCOPE


def is_specialized(func: Any) -> bool:
    """Whether TileLang has specialized the warps of a kernel."""
    return any(map(is_scope, statements(func)))
