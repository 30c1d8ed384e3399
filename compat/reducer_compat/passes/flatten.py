"""See that every index has the value that it had before buffers were flattened.

When TileLang flattens a buffer, TVM simplifies the index of each access (`IterMapSimplify`), and is
wrong about some offsets and remainders, in kernels without reducers, too:

    x % 128 % 48          becomes  x % 48                  up to 0.1.13
    (x % 64 + 1) // 8     becomes  (x + 1) % 64 // 8       up to 0.1.15, the newest that was tried

It was wrong about no index without a remainder or quotient of a sum with a constant, or of a
remainder by what is no multiple of the outer divisor: 12,000 random indices. Indices with one are
evaluated as they were and as they became, for all threads and turns; where they differ, or where
that cannot be told, remainders and quotients are written rounded towards zero, which the
simplifier does not know, and are the same instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes import build
from reducer_compat.passes.evaluate import evaluate

_REMAINDER, _QUOTIENT = "FloorMod", "FloorDiv"
_ACCESSES = ("BufferLoad", "BufferStore")
#: Values of the variables of one index that are tried, at most.
_MOST = 1 << 16
#: The least and the number of the values of each loop and thread variable, by its hash.
_Ranges = dict[int, tuple[int, int]]


def is_doubtful(func: Any) -> bool:
    """Whether a kernel has an index, or another expression, of a form that may become wrong."""
    found: list[Any] = []

    def see(node: Any) -> None:
        if not found and _is_doubtful(node):
            found.append(node)

    tree.replaced(func.body, see, _REMAINDER, _QUOTIENT)
    return bool(found)


def hide_changed(func: Any, flat: Any) -> Any:
    """`func` with the indices hidden from the simplifier that it changed in `flat`."""
    before, after = _accesses(func.body), _accesses(flat.body)
    if len(before) == len(after):
        ranges = _ranges(func.body)
        changed = {
            number
            for number, (old, new) in enumerate(zip(before, after, strict=True))
            if _has_doubt(old) and not _same(old, new, ranges)
        }
    else:
        changed = {number for number, access in enumerate(before) if _has_doubt(access)}
    return _hidden(func, changed) if changed else func


def _is_doubtful(node: Any) -> bool:
    """Whether a remainder or quotient is of a sum with a constant, or of a remainder by what is no
    multiple of its divisor."""
    tir = adapter().tir
    divisor = tree.constant(node.b)
    for inner in tree.nodes(node.a):
        if type(inner) in (tir.Add, tir.Sub):
            if any(tree.constant(term) is not None for term in (inner.a, inner.b)):
                return True
        elif type(inner) is tir.FloorMod:
            modulus = tree.constant(inner.b)
            if not divisor or modulus is None or modulus % divisor:
                return True
    return False


def _accesses(body: Any) -> list[Any]:
    """The loads and stores of a kernel, each as often as it stands there."""
    found: list[Any] = []
    tree.replaced(body, found.append, *_ACCESSES)
    return found


def _has_doubt(access: Any) -> bool:
    tir = adapter().tir
    return any(
        type(node) in (tir.FloorMod, tir.FloorDiv) and _is_doubtful(node)
        for index in tree.items(access.indices)
        for node in tree.nodes(index)
    )


def _variables(body: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The variables of loops and launches, each with its least value and the number of them."""
    tir = adapter().tir
    for stmt in tree.walk(body):
        if type(stmt) is tir.For:
            yield stmt.loop_var, stmt.min, stmt.extent
        elif tree.is_launch(stmt):
            yield stmt.node.var, build.integer(0), stmt.value


def _ranges(body: Any) -> _Ranges:
    """What loops and launches say of their variables, where these are constants."""
    known = (
        (hash(var), (tree.constant(least), tree.constant(extent)))
        for var, least, extent in _variables(body)
    )
    return {var: (least, extent) for var, (least, extent) in known if least is not None and extent}


def _same(old: Any, new: Any, ranges: _Ranges) -> bool:
    """Whether an access is to the same element before and after, wherever that can be told."""
    place = build.flat(tree.items(old.indices), tree.items(old.buffer.shape))
    moved = tree.items(new.indices)
    if len(moved) != 1 or tree.items(old.buffer.strides):
        return False
    variables = {hash(var): var for var in (*tree.variables(place), *tree.variables(moved[0]))}
    known = [(var, *ranges[name]) for name, var in variables.items() if name in ranges]
    total = math.prod(extent for _, _, extent in known)
    if len(known) < len(variables) or total > _MOST:
        return False
    grid = np.indices([extent for _, _, extent in known]).reshape(len(known), total)
    env = [(var, line + least) for line, (var, least, _) in zip(grid, known, strict=True)]
    try:
        return bool(np.all(evaluate(place, env) == evaluate(moved[0], env)))
    except LookupError:
        return False


def _hidden(func: Any, changed: set[int]) -> Any:
    """A kernel with remainders and quotients rounded towards zero in the accesses `changed`."""
    tir = adapter().tir
    numbers = count()
    within = _bounds(func.body)

    def hide(access: Any) -> Any:
        if next(numbers) not in changed:
            return None
        indices = [_towards_zero(index, within) for index in tree.items(access.indices)]
        if type(access) is tir.BufferLoad:
            return tir.BufferLoad(access.buffer, indices)
        return tir.BufferStore(access.buffer, access.value, indices)

    return func.with_body(tree.replaced(func.body, hide, *_ACCESSES))


def _bounds(body: Any) -> Callable[[Any], bool]:
    """Whether an expression is seen to be 0 or more, with what loops and launches say."""
    here = adapter()
    analyzer = here.tvm.arith.Analyzer()
    for var, least, extent in _variables(body):
        analyzer.bind(var, here.tvm.ir.Range.from_min_extent(least, extent))
    return lambda expr: int(analyzer.const_int_bound(expr).min_value) >= 0


def _towards_zero(index: Any, is_natural: Callable[[Any], bool]) -> Any:
    """An index with the same value, in remainders and quotients that are rounded towards zero."""
    tir = adapter().tir

    def rounded(node: Any) -> Any:
        if not is_natural(node.b):
            return None
        remainder, whole = tir.Mod(node.a, node.b), node.a
        if not is_natural(node.a):
            remainder = tir.Mod(remainder + node.b, node.b)
            whole = node.a - remainder
        return remainder if type(node) is tir.FloorMod else tir.Div(whole, node.b)

    return tree.replaced(tir.Evaluate(index), rounded, _REMAINDER, _QUOTIENT).value
