"""A function that launches several kernels, one after the other, is lowered kernel by kernel.

Each has threads of its own. A part is the function with the body of one launch, and with the
attributes that earlier passes left on that part:

    @T.prim_func
    def f(A, W, B):
        with T.Kernel(8, threads=64): ...       part 0
        with T.Kernel(1, threads=32): ...       part 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer_compat import tree
from reducer_compat.draft import Draft, draft
from reducer_compat.once import answers_kept

#: What the names of attributes of ours on a function begin with.
PREFIX = "reducer_compat."


def _always(func: Any) -> bool:
    return True


def each(func: Any, change: Callable[[Any], Any], where: Callable[[Any], Any] = _always) -> Any:
    """`func` with the kernels that it launches changed; `change` is given drafts.

    Of several kernels, those are changed that `where` is true of; it has to be true of `func`.
    """
    with answers_kept():
        return draft(_changed(draft(func), change, where)).function()


def _changed(func: Draft, change: Callable[[Any], Any], where: Callable[[Any], Any]) -> Any:
    found = _launches(func.body)
    if len(found) < 2:
        return change(func)
    bodies = {}
    for number, launch in enumerate(found):
        old = _part(func, number, launch)
        new = change(old) if where(old) else old
        bodies[hash(launch)] = new.body
        for name in ours(old):
            func = func.without_attr(f"{name}/{number}")
        for name in ours(new):
            func = func.with_attr(f"{name}/{number}", new.attrs[name])
    return tree.rewritten(func, lambda stmt: bodies.get(hash(stmt)))


def _part(func: Draft, number: int, launch: Any) -> Draft:
    part, ending = func.with_body(launch), f"/{number}"
    for name in ours(func):
        part = part.without_attr(name)
        if name.endswith(ending):
            part = part.with_attr(name.removesuffix(ending), func.attrs[name])
    return part


def ours(func: Any) -> list[str]:
    """The attributes of ours that a function has: none where no kernel of it was carried."""
    names = map(str, func.attrs.keys()) if func.attrs else ()
    return [name for name in names if name.startswith(PREFIX)]


def _launches(stmt: Any) -> list[Any]:
    """The outermost statements that bind blocks and threads, in program order."""
    if tree.is_launch(stmt):
        return [stmt]
    return [launch for child in tree.children(stmt) for launch in _launches(child)]
