"""Put in barriers that TileLang's ThreadSync leaves out where tiles share places.

It puts a barrier before what a thread touches and another touched since the last one, and takes

- elements for places: of two tiles of different dtypes in one place, element i of one is taken
  for element i of the other, so that a thread seems to touch its own;
- a barrier in one arm of a branch for one in all of it: what the other arm touches, and what
  follows, seem to be kept apart from what stood before the branch. The same goes for a loop that
  may not run;
- a `while` loop for one that runs once: what a turn touches seems to be kept apart from the next.

    S[...] = ...; barrier; ... = S[...]
    if c: exchange[...] = ...; barrier; O[...] = ...
    else: O[...] = ...                              O has the place of S

All are races in the interpreter, from 0.1.8 to 0.1.15 (0.1.9 and 0.1.10 take some barriers out of
branches), in kernels without reducers, too. Only such pairs are looked at here: two statements
that may touch the same bytes, one of them to write, with no barrier on a way from one to the
other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, reduce
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import CopyError, ReducerError
from reducer_compat.passes.build import barrier_for
from reducer_compat.passes.copies import is_without_tma
from reducer_compat.passes.places import Place, overlap
from reducer_compat.passes.plan import dtype_bytes
from reducer_compat.passes.specialized import branch_threads, is_scope
from reducer_compat.passes.touches import (
    ADDRESS,
    POINTER,
    Pointers,
    Touch,
    UnknownError,
    Where,
    binding,
    bounded,
    called,
    is_barrier,
    is_shared,
    is_uniform,
    number,
    pointed_bytes,
)

_SCOPE = "shared.dyn"
_JUMPS = frozenset({"continue_loop", "break_loop", "loop_break"})


class _Meets(Enum):
    """On which ways through a statement all threads of a block meet."""

    NEVER, SOMETIMES, ALWAYS = range(3)


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement, and what a thread touches in it before and after the threads meet.

    Attributes:
        parts: those of the statements inside.
        own: what its expressions touch before it enters them.
        heads: what is touched on a way with no barrier from where it begins.
        tails: what is touched on a way with no barrier to where it ends.
        together: whether all threads of a block enter the statements inside, or none does.
        jumps: whether a way leads out of it to the next turn of a loop around it, or behind one.
    """

    stmt: Any
    parts: tuple[_Part, ...]
    own: tuple[Touch, ...]
    heads: tuple[Touch, ...]
    tails: tuple[Touch, ...]
    meets: _Meets
    together: bool = True
    jumps: bool = False


#: What no barrier stands after; and whether one stands beside the way, which ThreadSync takes for
#: one on it.
_Pending = frozenset[tuple[Touch, bool]]


def separate(func: Any, kernel: str) -> Any:
    """A kernel for the device, where shared memory is merged and barriers stand, with those that
    lack; itself where none does, or where that cannot be told.

    Raises:
        CopyError: a barrier stands where some threads do not come, and the kernel was not lowered
            without TMA yet.
        ReducerError: one does, all the same.
    """
    reader = _Reader()
    try:
        if not _is_doubtful(func):
            return func
        whole = reader.read(func.body, Where())
    except UnknownError:
        return func
    if _is_divergent(whole, reader.lanes):
        kind = ReducerError if is_without_tma() else CopyError
        raise kind(
            "RC003",
            "TileLang puts a barrier where some threads do not come",
            kernel=kernel,
            fix="read the result in shared memory, or store the tile by a loop",
        )
    body, _ = _Placer(barrier_for(_SCOPE)).placed(whole, frozenset())
    return func if body is whole.stmt else func.with_body(body)


def _is_doubtful(func: Any) -> bool:
    """Whether tiles of different dtypes share places, or threads meet on some ways only.

    Raises:
        UnknownError: a variable points to shared memory in a way that is not known.
    """
    pointers, tiles = Pointers(), list[tuple[int, Place]]()
    tir, branching, variable = adapter().tir, tree.branching(), binding()
    threads: tuple[int, ...] = ()
    for stmt in tree.walk(func.body):
        kind = type(stmt)
        if kind is tir.AttrStmt and is_scope(stmt):
            threads = branch_threads(stmt)
        elif kind is variable:
            pointers.take(stmt)
        elif kind is tir.Evaluate and called(stmt) in _JUMPS:
            return True
        elif kind is tir.DeclBuffer and is_shared(stmt.buffer.data):
            tiles.append(_tile(stmt.buffer, pointers))
        elif kind in branching and _may_skip(stmt) and _holds_barrier(stmt, threads):
            return True
    return any(
        size != other and overlap(place, there)
        for k, (size, place) in enumerate(tiles)
        for other, there in tiles[:k]
    )


def _tile(buffer: Any, pointers: Pointers) -> tuple[int, Place]:
    """The bytes of an element, and the place of a buffer; that of its allocation on 0.1.8, where
    indices begin at it."""
    itemsize = dtype_bytes(str(buffer.dtype))
    root, before = pointers.root(buffer.data)
    extents = [tree.constant(extent) for extent in tree.items(buffer.shape)]
    if root == hash(buffer.data) or None in extents:
        return itemsize, (root, 0, 1 << 40)
    size = reduce(int.__mul__, (extent or 0 for extent in extents), itemsize)
    return itemsize, (root, before, before + size - 1)


def _holds_barrier(stmt: Any, threads: Collection[int]) -> bool:
    """Whether a barrier is in a statement, of the block or of so many threads."""
    return any(is_barrier(inner, threads) for inner in tree.walk(stmt))


@lru_cache(maxsize=1)
def _looping() -> frozenset[type]:
    tir = adapter().tir
    return frozenset({tir.For, tir.While})


def _may_skip(stmt: Any) -> bool:
    """Whether there is a way through a statement of these on which one inside is not run."""
    return type(stmt) is not adapter().tir.For or not tree.constant(stmt.extent)


class _Reader:
    """Reads what the statements of a kernel touch, and where its threads meet."""

    def __init__(self) -> None:
        self._pointers = Pointers()
        #: Variables that may differ between the threads of a block, and those that say which
        #: thread it is.
        self.threads: set[int] = set()
        self.lanes: set[int] = set()
        #: How many threads the branches have that a statement is in.
        self._shares: tuple[int, ...] = ()

    def read(self, stmt: Any, where: Where) -> _Part:
        """A statement with all that is in it.

        Raises:
            UnknownError: there is a part that cannot be told.
        """
        if is_scope(stmt):
            self._shares = branch_threads(stmt)
        if is_barrier(stmt, self._shares):
            return _Part(stmt, (), (), (), (), _Meets.ALWAYS)
        if called(stmt) in _JUMPS:
            return _Part(stmt, (), (), (), (), _Meets.NEVER, jumps=True)
        where = self._bound(stmt, where)
        own = tuple(self._touches(stmt, where))
        parts = tuple(
            self.read(child, inside)
            for child, inside in zip(tree.children(stmt), self._inside(stmt, where), strict=False)
        )
        if type(stmt) is adapter().tir.IfThenElse:
            return self._branch(stmt, own, parts)
        heads, tails, meets = _one_after_another([(own, own, _Meets.NEVER), *map(_flow, parts)])
        skips = type(stmt) in tree.branching() and _may_skip(stmt)
        if skips and meets is not _Meets.NEVER:
            return _Part(stmt, parts, own, heads, tails, _Meets.SOMETIMES)
        jumps = any(part.jumps for part in parts) and type(stmt) not in _looping()
        return _Part(stmt, parts, own, heads, tails, meets, self._is_together(stmt, meets), jumps)

    def _branch(self, stmt: Any, own: tuple[Touch, ...], parts: tuple[_Part, ...]) -> _Part:
        kinds = {part.meets for part in parts} | ({_Meets.NEVER} if len(parts) == 1 else set())
        meets = kinds.pop() if len(kinds) == 1 else _Meets.SOMETIMES
        heads = own + tuple(touch for part in parts for touch in part.heads)
        tails = tuple(touch for part in parts for touch in part.tails)
        tails += own if meets is not _Meets.ALWAYS else ()
        jumps = any(part.jumps for part in parts)
        return _Part(stmt, parts, own, heads, tails, meets, self._is_together(stmt, meets), jumps)

    def _is_together(self, stmt: Any, meets: _Meets) -> bool:
        """Whether threads go the same way at a statement: they do where they meet in it."""
        if meets is not _Meets.NEVER or type(stmt) not in tree.branching():
            return True
        return all(is_uniform(expr, self.threads) for expr in tree.expressions(stmt))

    def _bound(self, stmt: Any, where: Where) -> Where:
        """What is known inside a statement that binds a variable."""
        if tree.is_launch(stmt):
            if str(stmt.node.thread_tag).startswith("threadIdx"):
                self.threads.add(hash(stmt.node.var))
                self.lanes.add(hash(stmt.node.var))
            extent = tree.constant(stmt.value)
            return where.over(stmt.node.var, 0, extent - 1) if extent else where
        if type(stmt) is adapter().tir.For:
            start, turns = tree.constant(stmt.min), tree.constant(stmt.extent)
            if start is not None and turns:
                return where.over(stmt.loop_var, start, start + turns - 1)
        elif type(stmt) is binding():
            self._pointers.take(stmt)
            if not is_uniform(stmt.value, self.threads):
                self.threads.add(hash(stmt.var))
            if _tells_lanes(stmt.value, self.lanes):
                self.lanes.add(hash(stmt.var))
        return where

    def _inside(self, stmt: Any, where: Where) -> tuple[Where, ...]:
        """What is known in each of the statements inside one."""
        if type(stmt) is adapter().tir.IfThenElse:
            return where.under(stmt.condition), where
        return (where,) * len(tree.children(stmt))

    def _touches(self, stmt: Any, where: Where) -> Iterator[Touch]:
        tir = adapter().tir
        if type(stmt) is tir.BufferStore:
            yield from self._pointers.element(stmt, where, writes=True)
        for expr in tree.expressions(stmt):
            for node in tree.nodes(expr):
                if type(node) is tir.BufferLoad:
                    yield from self._pointers.element(node, where, writes=False)
                elif tree.operation(node) == POINTER and is_shared(node.args[1]):
                    size = number(node.args[3]) * pointed_bytes(node)
                    yield self._pointers.pointed(node, where, size)
                elif tree.operation(node) == ADDRESS:
                    yield from self._pointers.whole(node.args[0].buffer.data)


_Flow = tuple[tuple[Touch, ...], tuple[Touch, ...], _Meets]


def _flow(part: _Part) -> _Flow:
    return part.heads, part.tails, part.meets


def _one_after_another(flows: Iterable[_Flow]) -> _Flow:
    """What is touched before and after the threads meet, in statements one after another."""
    heads: tuple[Touch, ...] = ()
    tails: tuple[Touch, ...] = ()
    meets = _Meets.NEVER
    for first, last, now in flows:
        if meets is not _Meets.ALWAYS:
            heads += first
        tails = last if now is _Meets.ALWAYS else tails + last
        meets = max(meets, now, key=lambda kind: kind.value)
    return heads, tails, meets


class _Placer:
    """Puts barriers between statements: `barrier`, which those who run them come to."""

    def __init__(self, barrier: Any) -> None:
        self._barrier = barrier
        self._places: dict[Touch, Place] = {}
        #: What pends where a way leads out of the loop's body.
        self._jumped: _Pending = frozenset()

    def entered(self, part: _Part, pending: _Pending) -> tuple[Any, _Pending]:
        """A statement with the barriers that lack before it and in it, and what pends after it."""
        if not self._clash(pending, part.heads):
            return self.placed(part, pending)
        stmt, pending = self.placed(part, frozenset())
        return tree.sequence([self._barrier, stmt], tree.span_of(part.stmt)), pending

    def placed(self, part: _Part, pending: _Pending) -> tuple[Any, _Pending]:
        """The same, without one before it."""
        if not part.parts or not part.together:
            if part.jumps:
                self._jumped |= _hidden(pending | _fresh(part.tails))
            return part.stmt, _past(part, pending)
        if is_scope(part.stmt):
            return _apart(part), frozenset()
        pending |= _fresh(part.own)
        if type(part.stmt) is adapter().tir.IfThenElse:
            return self._branch(part, pending)
        if type(part.stmt) in _looping():
            return self._loop(part, pending)
        stmts = []
        for inner in part.parts:
            stmt, pending = self.entered(inner, pending)
            stmts.append(stmt)
        return _with(part, stmts), pending

    def _branch(self, part: _Part, pending: _Pending) -> tuple[Any, _Pending]:
        beside = pending if part.meets is _Meets.NEVER else _hidden(pending)
        first, *rest = part.parts
        stmt, left = self.placed(first, pending)
        if not rest:
            return _with(part, [stmt]), left | beside
        if rest[0].meets is not _Meets.NEVER:
            left = _hidden(left)
        before = pending if first.meets is _Meets.NEVER else beside
        other, others = self.entered(rest[0], before)
        return _with(part, [stmt, other]), left | others

    def _loop(self, part: _Part, pending: _Pending) -> tuple[Any, _Pending]:
        (body,) = part.parts
        around, self._jumped = self._jumped, frozenset()
        _, left = self.placed(body, pending)
        if type(part.stmt) is adapter().tir.While:
            left = _hidden(left)
        stmt, left = self.entered(body, pending | left | self._jumped)
        left |= self._jumped
        self._jumped = around
        skipped = _hidden(pending) if part.meets is _Meets.SOMETIMES else frozenset()
        return _with(part, [stmt]), left | skipped

    def _clash(self, pending: _Pending, touches: Iterable[Touch]) -> bool:
        """Whether ThreadSync may have left out a barrier between some touches and others."""
        return any(
            (one.writes or other.writes)
            and (hidden or _differ(one, other))
            and one.root == other.root
            and overlap(self._place(one), self._place(other))
            for other in touches
            for one, hidden in pending
        )

    def _place(self, touch: Touch) -> Place:
        if touch not in self._places:
            self._places[touch] = bounded(touch, {})
        return self._places[touch]


def _tells_lanes(expr: Any, lanes: set[int]) -> bool:
    """Whether an expression depends on which thread it is, and on no memory."""
    inside = tree.nodes(expr)
    if tree.among(inside, "Call", "BufferLoad"):
        return False
    return any(hash(var) in lanes for var in tree.among(inside, "Var", "SizeVar"))


def _is_divergent(part: _Part, lanes: set[int]) -> bool:
    """Whether a barrier stands under a condition that differs between the threads it is for."""
    stmt = part.stmt
    conditions = tree.expressions(stmt) if type(stmt) in tree.branching() else ()
    if part.meets is not _Meets.NEVER and any(_tells_lanes(one, lanes) for one in conditions):
        return True
    inner = part.parts
    if is_scope(stmt):
        inner = tuple(arm for branch in part.parts for arm in _arms(branch))
    return any(_is_divergent(one, lanes) for one in inner)


def _arms(part: _Part) -> Iterator[_Part]:
    """The branches of a warp-specialized statement."""
    if type(part.stmt) is adapter().tir.IfThenElse:
        yield from part.parts
    else:
        for inner in part.parts:
            yield from _arms(inner)


def _apart(part: _Part) -> Any:
    """A warp-specialized statement, each branch of it with the barriers that its threads lack.

    What the others do is not for these barriers: they wait for it in other ways.
    """
    if type(part.stmt) is adapter().tir.IfThenElse:
        return _with(part, [_within(arm) for arm in part.parts])
    return _with(part, [_apart(inner) for inner in part.parts])


def _within(arm: _Part) -> Any:
    """A branch of a warp-specialized kernel, which has a barrier to put in where it has one."""
    found = next(iter(_meetings(arm)), None)
    return arm.stmt if found is None else _Placer(found).placed(arm, frozenset())[0]


def _meetings(part: _Part) -> Iterator[Any]:
    """The barriers in a statement."""
    if part.meets is _Meets.ALWAYS and not part.parts:
        yield part.stmt
    for inner in part.parts:
        yield from _meetings(inner)


def _differ(one: Touch, other: Touch) -> bool:
    return bool(one.itemsize and other.itemsize) and one.itemsize != other.itemsize


def _fresh(touches: Iterable[Touch]) -> _Pending:
    return frozenset((touch, False) for touch in touches)


def _hidden(pending: _Pending) -> _Pending:
    return frozenset((touch, True) for touch, _ in pending)


def _past(part: _Part, pending: _Pending) -> _Pending:
    """What pends after a statement that stays as it is."""
    left = _fresh(part.tails)
    return left if part.meets is _Meets.ALWAYS else pending | left


def _with(part: _Part, stmts: Sequence[Any]) -> Any:
    same = all(stmt is inner.stmt for stmt, inner in zip(stmts, part.parts, strict=True))
    return part.stmt if same else tree.rebuilt(part.stmt, tuple(stmts))
