"""Let asynchronous copies fly as long as what they bring is not read.

A software pipeline commits a group of copies for every tile, and waits, before it reads one,
until no more than so many groups are in flight. From 0.1.9 to 0.1.11 TileLang counts one group for
each stage, though a stage with two tiles commits two, so the loop waits for copies that the
next turn needs; from 0.1.12 on it counts them all. After the loop of a pipeline of three stages
0.1.9 waits for too few, and reads what is not there yet, in kernels without reducers, too.

    commit A0; commit x0; commit A1; commit x1
    for k in range(n):
        wait 1                              3 would do: A(k) has to be there, and nothing after it
        barrier; read A[k % 2]; barrier; copy to A[k % 2]; commit
        wait 1                              3, too: x(k)

The kernel is run through, group by group, with what each statement touches of shared memory: a
touch needs the group that was copied there, by the last wait before it that a barrier of the
block follows. A loop is run until its state comes again. A wait is set to the least that its
touches allow. A pointer that is handed on may be used for all of an allocation. What is not
understood leaves the kernel as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.places import Place, overlap
from reducer_compat.passes.specialized import is_scope
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
    filled,
    is_barrier,
    is_shared,
    is_uniform,
    number,
    pointed_bytes,
)

COMMIT = "ptx_commit_group"
WAIT = "ptx_wait_group"
COPY = "ptx_cp_async"
#: What the names of operations contain whose copies are waited for in other ways.
_OTHERS = ("mbarrier", "barrier_", "tma_", "bulk", "async_barrier", "thread_return")
#: Periods of a loop's accesses that are tried, and steps after which a kernel is left alone.
_PERIODS = range(1, 9)
_MOST_STEPS = 4000


@dataclass(frozen=True, slots=True)
class _Access:
    touches: tuple[Touch, ...]
    copies: tuple[Touch, ...]


@dataclass(frozen=True, slots=True)
class _Wait:
    """The wait of a number, in program order; `allowed` groups may stay in flight."""

    number: int
    allowed: int


@dataclass(frozen=True, slots=True)
class _Loop:
    var: Any
    start: int
    turns: int
    body: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Arms:
    """The arms of a branch that all threads of a block take, or none."""

    programs: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class _Sign:
    """A commit or a barrier."""

    commits: bool


@dataclass(slots=True)
class _State:
    """Where a run stands: places that are copied to and their groups, and waits."""

    committed: int = 0
    flying: dict[Place, int] = field(default_factory=dict)
    behind: tuple[int, int] | None = None
    latest: tuple[int, int] | None = None
    steps: int = 0

    def key(self) -> Any:
        """The state, whatever number of groups came before."""
        now = self.committed
        flying = frozenset((place, now - group) for place, group in self.flying.items())
        waits = (self.behind, self.latest)
        return flying, tuple(wait and (wait[0], now - wait[1]) for wait in waits)


def allowances(func: Any) -> dict[int, int]:
    """How many groups may be in flight after each wait that allows another number, by its number.

    Empty where that cannot be told.
    """
    try:
        reader = _Reader()
        program = tuple(reader.read(func.body, Where(), running=True))
        if reader.stored & reader.sources:
            return {}
        needed = _Run().of(program)
    except UnknownError:
        return {}
    # Nothing relies on a wait without a need; another one stands between it and every read.
    most = max(needed.values(), default=0)
    bounds = {wait: needed.get(wait.number, max(most, wait.allowed)) for wait in reader.waits}
    return {wait.number: bound for wait, bound in bounds.items() if bound != wait.allowed}


def set_waits(func: Any) -> Any:
    """A kernel for the device, where shared memory is merged and barriers stand, with its waits
    set to what its reads allow."""
    found = allowances(func) if has_waits(func) else {}
    if not found:
        return func
    here = adapter()
    numbers = iter(range(1 << 30))

    def with_bound(stmt: Any) -> Any:
        if tree.operation(stmt.value) != WAIT:
            return None
        number = next(numbers)
        if number not in found:
            return None
        call = stmt.value
        allowed = here.tir.IntImm("int32", found[number])
        return here.tir.Evaluate(here.tir.Call(call.dtype, call.op, [allowed]))

    return func.with_body(tree.replaced(func.body, with_bound, "Evaluate"))


def has_waits(func: Any) -> bool:
    """Whether a kernel waits for groups of copies."""
    return any(called(stmt) == WAIT for stmt in tree.walk(func.body))


class _Reader:
    """Reads a kernel as a program of accesses, waits, commits and barriers."""

    def __init__(self) -> None:
        self.waits: list[_Wait] = []
        #: Variables of global memory that is stored to, and that is copied from.
        self.stored: set[int] = set()
        self.sources: set[int] = set()
        #: Variables that differ between the threads of a block.
        self._threads: set[int] = set()
        self._pointers = Pointers()

    def read(self, stmt: Any, where: Where, running: bool) -> Iterator[Any]:
        """The program of a statement; `running`: whether every thread comes by once a turn.

        Raises:
            UnknownError: there is a part that cannot be told.
        """
        tir = adapter().tir
        if is_scope(stmt) or type(stmt) is tir.While:
            raise UnknownError
        if type(stmt) is tir.AttrStmt and stmt.attr_key == "thread_extent":
            where = where.over(stmt.node.var, 0, number(stmt.value) - 1)
            if str(stmt.node.thread_tag).startswith("threadIdx"):
                self._threads.add(hash(stmt.node.var))
        elif type(stmt) is binding():
            self._pointers.take(stmt)
        sign = self._sign(stmt)
        if sign is not None:
            yield from self._signed(sign, running)
            return
        if type(stmt) is tir.For:
            yield from self._loop(stmt, where, running)
            return
        access = self._access(stmt, where)
        if access.touches or access.copies:
            yield access
        if type(stmt) is tir.IfThenElse:
            yield from self._branch(stmt, where, running)
            return
        for child in tree.children(stmt):
            yield from self.read(child, where, running)

    def _branch(self, stmt: Any, where: Where, running: bool) -> Iterator[Any]:
        whole = running and _runs(stmt) and is_uniform(stmt.condition, self._threads)
        first, *rest = tree.children(stmt)
        arms = [self.read(first, where.under(stmt.condition), running=whole)]
        arms += [self.read(other, where, running=whole) for other in rest]
        if whole:
            yield _Arms(tuple(tuple(arm) for arm in arms))
        else:
            for arm in arms:
                yield from arm

    def _sign(self, stmt: Any) -> Any:
        operation = called(stmt)
        if operation == COMMIT:
            return _Sign(commits=True)
        if operation == WAIT:
            wait = _Wait(len(self.waits), number(stmt.value.args[0]))
            self.waits.append(wait)
            return wait
        return _Sign(commits=False) if is_barrier(stmt) else None

    def _signed(self, sign: Any, running: bool) -> Iterator[Any]:
        if running:
            yield sign
        elif isinstance(sign, _Wait) or sign.commits:
            raise UnknownError

    def _loop(self, stmt: Any, where: Where, running: bool) -> Iterator[Any]:
        start, turns = number(stmt.min), number(stmt.extent)
        if _runs(stmt):
            body = tuple(self.read(stmt.body, where, running))
            yield _Loop(stmt.loop_var, start, turns, body)
        else:
            inside = where.over(stmt.loop_var, start, start + turns - 1)
            yield from self.read(stmt.body, inside, running=False)

    def _access(self, stmt: Any, where: Where) -> _Access:
        tir = adapter().tir
        touches, copies = [], []
        if type(stmt) is tir.BufferStore:
            touches += self._pointers.element(stmt, where, writes=True)
            if not is_shared(stmt.buffer.data):
                self.stored.add(self._pointers.root(stmt.buffer.data)[0])
        for expr in tree.expressions(stmt):
            nodes = tree.nodes(expr)
            pointers = [node for node in nodes if tree.operation(node) == POINTER]
            target = None
            if tree.operation(expr) == COPY:
                if len(pointers) != 2:
                    raise UnknownError
                target, source = pointers
                copies.append(self._pointers.pointed(target, where, self._bytes(expr, target)))
                self.sources.add(self._pointers.root(source.args[1])[0])
            for node in nodes:
                if type(node) is tir.BufferLoad:
                    touches += self._pointers.element(node, where, writes=False)
                elif tree.operation(node) == ADDRESS:
                    touches += self._pointers.whole(node.args[0].buffer.data)
                elif any(other in tree.operation(node) for other in _OTHERS):
                    raise UnknownError
            for pointer in pointers:
                if pointer is not target and is_shared(pointer.args[1]):
                    touches += self._pointers.whole(pointer.args[1])
                elif pointer is not target and number(pointer.args[4]) & 2:
                    self.stored.add(self._pointers.root(pointer.args[1])[0])
            named = [n for n in nodes if isinstance(n, tir.Var) and is_shared(n)]
            if len(named) > sum(is_shared(pointer.args[1]) for pointer in pointers):
                for var in named:
                    touches += self._pointers.whole(var)
        return _Access(tuple(touches), tuple(copies))

    def _bytes(self, copy: Any, target: Any) -> int:
        """How many bytes a thread copies: TileLang's own operation counts elements."""
        strings = adapter().tir.StringImm
        args = [arg for arg in tree.items(copy.args) if not isinstance(arg, strings)]
        counted = number(args[2])
        elements = str(copy.op.name).startswith("tl.")
        return counted * (pointed_bytes(target) if elements else 1)


def _runs(stmt: Any) -> bool:
    """Whether a statement has copies committed or waited for."""
    return any(called(inner) in (COMMIT, WAIT) for inner in tree.walk(stmt))


class _Run:
    """Runs a program through, and collects what each wait has to have waited for."""

    def __init__(self) -> None:
        self._state = _State()
        self._allowed: dict[int, int] = {}
        self._places: dict[Any, Place] = {}
        self._values: dict[Any, int] = {}

    def of(self, program: Sequence[Any]) -> dict[int, int]:
        """The most groups in flight after each wait that something relies on.

        Raises:
            UnknownError: a read relies on no wait, or a copy is never read.
        """
        self._all(program)
        if self._state.flying:
            raise UnknownError
        return self._allowed

    def _all(self, program: Sequence[Any]) -> None:
        for step in program:
            self._state.steps += 1
            if self._state.steps > _MOST_STEPS:
                raise UnknownError
            self._step(step)

    def _step(self, step: Any) -> None:
        state = self._state
        if isinstance(step, _Loop):
            self._loop(step)
        elif isinstance(step, _Arms):
            self._arms(step)
        elif isinstance(step, _Wait):
            state.latest = (step.number, state.committed)
        elif isinstance(step, _Access):
            self._access(step)
        elif step.commits:
            state.committed += 1
        elif state.latest is not None:
            state.behind, state.latest = state.latest, None

    def _access(self, access: _Access) -> None:
        for touch in access.touches:
            self._settle(self._place(touch), copies=False)
        for copy in access.copies:
            place = self._place(copy)
            self._settle(place, copies=True)
            self._state.flying[place] = self._state.committed

    def _settle(self, place: Place, copies: bool) -> None:
        """Have the groups waited for that copied to a place."""
        state = self._state
        groups = [group for there, group in state.flying.items() if overlap(there, place)]
        if copies:
            groups = [group for group in groups if group != state.committed]
        if not groups:
            return
        newest = max(groups)
        if state.behind is None or state.behind[1] <= newest:
            raise UnknownError
        number, committed = state.behind
        allowed = committed - newest - 1
        self._allowed[number] = min(allowed, self._allowed.get(number, allowed))
        state.flying = {there: group for there, group in state.flying.items() if group > newest}

    def _arms(self, arms: _Arms) -> None:
        """Run each arm on its own.

        Raises:
            UnknownError: copies are in flight where they begin or end.
        """
        for program in arms.programs:
            self._land()
            self._all(program)
        self._land()

    def _land(self) -> None:
        if self._state.flying:
            raise UnknownError
        self._state.behind = self._state.latest = None

    def _loop(self, loop: _Loop) -> None:
        seen: dict[Any, int] = {}
        period, turn = _period(loop), 0
        while turn < loop.turns:
            key = (turn % period, self._state.key()) if period else None
            if key in seen:
                cycle = turn - seen[key]
                turn += (loop.turns - turn) // cycle * cycle
                seen, period = {}, 0
                continue
            if key is not None:
                seen[key] = turn
            self._values[loop.var] = loop.start + turn
            self._all(loop.body)
            turn += 1
        self._values.pop(loop.var, None)

    def _place(self, touch: Touch) -> Place:
        if touch.first is None:
            return (touch.root, 0, 1 << 40)
        values = tuple(sorted((hash(var), value) for var, value in self._values.items()))
        key = (id(touch), values)
        if key not in self._places:
            self._places[key] = bounded(touch, self._values)
        return self._places[key]


def _period(loop: _Loop) -> int:
    """After how many turns a loop touches the same again; 0 where it is not seen to."""
    firsts = [touch.first for touch in _touches(loop.body) if touch.first is not None]
    return next((period for period in _PERIODS if _repeats(loop.var, firsts, period)), 0)


def _repeats(var: Any, firsts: Sequence[Any], period: int) -> bool:
    here = adapter()
    later = {var: var + here.tir.IntImm(var.dtype, period)}
    moved = (here.simplify(filled(first, later) - first) for first in firsts)
    return all(tree.constant(difference) == 0 for difference in moved)


def _touches(program: Sequence[Any]) -> Iterator[Touch]:
    for step in program:
        if isinstance(step, _Loop):
            yield from _touches(step.body)
        elif isinstance(step, _Arms):
            for program in step.programs:
                yield from _touches(program)
        elif isinstance(step, _Access):
            yield from (*step.touches, *step.copies)
