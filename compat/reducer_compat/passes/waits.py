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

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.build import substitute
from reducer_compat.passes.places import Place, overlap
from reducer_compat.passes.plan import dtype_bytes
from reducer_compat.passes.specialized import is_scope

COMMIT = "ptx_commit_group"
WAIT = "ptx_wait_group"
_COPY = "ptx_cp_async"
_BARRIER = "tvm_storage_sync"
_POINTER = "tvm_access_ptr"
_ADDRESS = "address_of"
#: What the names of operations contain whose copies are waited for in other ways.
_OTHERS = ("mbarrier", "barrier_", "tma_", "bulk", "async_barrier", "thread_return")
#: Periods of a loop's accesses that are tried, and steps after which a kernel is left alone.
_PERIODS = range(1, 9)
_MOST_STEPS = 4000


class _UnknownError(Exception):
    """The kernel has a part whose copies cannot be told."""


@dataclass(frozen=True, slots=True)
class _Where:
    """What is known where a statement stands.

    Attributes:
        ranges: the least and the largest value of variables, but for loops that are run.
        conditions: what holds of variables.
    """

    ranges: Mapping[Any, tuple[int, int]] = field(default_factory=dict)
    conditions: tuple[Any, ...] = ()

    def over(self, var: Any, least: int, most: int) -> _Where:
        return _Where({**self.ranges, var: (least, most)}, self.conditions)

    def under(self, condition: Any) -> _Where:
        known = () if tree.loads(condition) else (condition,)
        return _Where(self.ranges, (*self.conditions, *known))


@dataclass(frozen=True, slots=True)
class _Touch:
    """What a statement may touch: bytes `first` to `first + size - 1` of one allocation.

    Attributes:
        first: an expression, None where all of the allocation may be touched.
        where: what is known of the variables in it.
    """

    root: Any
    first: Any
    size: int
    where: _Where


@dataclass(frozen=True, slots=True)
class _Access:
    touches: tuple[_Touch, ...]
    copies: tuple[_Touch, ...]


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
        program = tuple(reader.read(func.body, _Where(), running=True))
        if reader.stored & reader.sources:
            return {}
        needed = _Run().of(program)
    except _UnknownError:
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
    return any(_called(stmt) == WAIT for stmt in tree.walk(func.body))


def _called(stmt: Any) -> str:
    return tree.operation(stmt.value) if isinstance(stmt, adapter().tir.Evaluate) else ""


class _Reader:
    """Reads a kernel as a program of accesses, waits, commits and barriers."""

    def __init__(self) -> None:
        self.waits: list[_Wait] = []
        #: Variables of global memory that is stored to, and that is copied from.
        self.stored: set[int] = set()
        self.sources: set[int] = set()
        #: Variables that differ between the threads of a block.
        self._threads: set[int] = set()
        #: The allocation and the bytes before it of variables that point into one.
        self._alias: dict[int, tuple[int, int]] = {}

    def read(self, stmt: Any, where: _Where, running: bool) -> Iterator[Any]:
        """The program of a statement; `running`: whether every thread comes by once a turn.

        Raises:
            _UnknownError: there is a part that cannot be told.
        """
        tir = adapter().tir
        if is_scope(stmt) or isinstance(stmt, tir.While):
            raise _UnknownError
        if isinstance(stmt, tir.AttrStmt) and stmt.attr_key == "thread_extent":
            where = where.over(stmt.node.var, 0, self._number(stmt.value) - 1)
            if str(stmt.node.thread_tag).startswith("threadIdx"):
                self._threads.add(hash(stmt.node.var))
        elif hasattr(stmt, "var") and hasattr(stmt, "value"):
            self._point(stmt)
        sign = self._sign(stmt)
        if sign is not None:
            yield from self._signed(sign, running)
            return
        if isinstance(stmt, tir.For):
            yield from self._loop(stmt, where, running)
            return
        access = self._access(stmt, where)
        if access.touches or access.copies:
            yield access
        if isinstance(stmt, tir.IfThenElse):
            yield from self._branch(stmt, where, running)
            return
        for child in tree.children(stmt):
            yield from self.read(child, where, running)

    def _branch(self, stmt: Any, where: _Where, running: bool) -> Iterator[Any]:
        whole = running and _runs(stmt) and self._is_uniform(stmt.condition)
        first, *rest = tree.children(stmt)
        arms = [self.read(first, where.under(stmt.condition), running=whole)]
        arms += [self.read(other, where, running=whole) for other in rest]
        if whole:
            yield _Arms(tuple(tuple(arm) for arm in arms))
        else:
            for arm in arms:
                yield from arm

    def _is_uniform(self, condition: Any) -> bool:
        """Whether a condition is the same in all threads of a block."""
        inside = tree.nodes(condition)
        if any(isinstance(node, (adapter().tir.Call, adapter().tir.BufferLoad)) for node in inside):
            return False
        return not any(hash(var) in self._threads for var in tree.variables(condition))

    def _sign(self, stmt: Any) -> Any:
        called = _called(stmt)
        if called == COMMIT:
            return _Sign(commits=True)
        if called == WAIT:
            wait = _Wait(len(self.waits), self._number(stmt.value.args[0]))
            self.waits.append(wait)
            return wait
        whole = called == _BARRIER and len(tree.items(stmt.value.args)) == 1
        if whole and str(stmt.value.args[0].value).startswith("shared"):
            return _Sign(commits=False)
        return None

    def _signed(self, sign: Any, running: bool) -> Iterator[Any]:
        if running:
            yield sign
        elif isinstance(sign, _Wait) or sign.commits:
            raise _UnknownError

    def _loop(self, stmt: Any, where: _Where, running: bool) -> Iterator[Any]:
        start, turns = self._number(stmt.min), self._number(stmt.extent)
        if _runs(stmt):
            body = tuple(self.read(stmt.body, where, running))
            yield _Loop(stmt.loop_var, start, turns, body)
        else:
            inside = where.over(stmt.loop_var, start, start + turns - 1)
            yield from self.read(stmt.body, inside, running=False)

    def _access(self, stmt: Any, where: _Where) -> _Access:
        tir = adapter().tir
        touches, copies = [], []
        if isinstance(stmt, tir.BufferStore):
            touches += self._element(stmt, where)
            if not _is_shared(stmt.buffer.data):
                self.stored.add(self._root(stmt.buffer.data)[0])
        for expr in tree.expressions(stmt):
            nodes = tree.nodes(expr)
            pointers = [node for node in nodes if tree.operation(node) == _POINTER]
            target = None
            if tree.operation(expr) == _COPY:
                if len(pointers) != 2:
                    raise _UnknownError
                target, source = pointers
                copies.append(self._pointed(target, where, self._bytes(expr, target)))
                self.sources.add(self._root(source.args[1])[0])
            for node in nodes:
                if isinstance(node, tir.BufferLoad):
                    touches += self._element(node, where)
                elif tree.operation(node) == _ADDRESS:
                    touches += self._whole(node.args[0].buffer.data)
                elif any(other in tree.operation(node) for other in _OTHERS):
                    raise _UnknownError
            for pointer in pointers:
                if pointer is not target and _is_shared(pointer.args[1]):
                    touches += self._whole(pointer.args[1])
                elif pointer is not target and self._number(pointer.args[4]) & 2:
                    self.stored.add(self._root(pointer.args[1])[0])
            named = [n for n in nodes if isinstance(n, tir.Var) and _is_shared(n)]
            if len(named) > sum(_is_shared(pointer.args[1]) for pointer in pointers):
                for var in named:
                    touches += self._whole(var)
        return _Access(tuple(touches), tuple(copies))

    def _element(self, node: Any, where: _Where) -> list[_Touch]:
        data = node.buffer.data
        if not _is_shared(data):
            return []
        indices = tree.items(node.indices)
        if len(indices) != 1:
            return self._whole(data)
        size, lanes = dtype_bytes(str(node.buffer.dtype)), 1
        index = indices[0]
        if isinstance(index, adapter().tir.Ramp):
            if tree.constant(index.stride) != 1:
                return self._whole(data)
            index, lanes = index.base, self._number(index.lanes)
        root, before = self._root(data)
        return [_Touch(root, index * size + before, size * lanes, where)]

    def _pointed(self, pointer: Any, where: _Where, size: int) -> _Touch:
        itemsize = dtype_bytes(str(pointer.args[0].dtype))
        root, before = self._root(pointer.args[1])
        return _Touch(root, pointer.args[2] * itemsize + before, size, where)

    def _bytes(self, copy: Any, target: Any) -> int:
        """How many bytes a thread copies: TileLang's own operation counts elements."""
        strings = adapter().tir.StringImm
        args = [arg for arg in tree.items(copy.args) if not isinstance(arg, strings)]
        counted = self._number(args[2])
        elements = str(copy.op.name).startswith("tl.")
        return counted * (dtype_bytes(str(target.args[0].dtype)) if elements else 1)

    def _whole(self, data: Any) -> list[_Touch]:
        return [_Touch(self._root(data)[0], None, 0, _Where())] if _is_shared(data) else []

    def _point(self, stmt: Any) -> None:
        """Take in that a variable points into an allocation."""
        if tree.operation(stmt.value) == "handle_add_byte_offset":
            root, before = self._root(stmt.value.args[0])
            offset = self._number(stmt.value.args[1])
            self._alias[hash(stmt.var)] = (root, before + offset)
        elif _is_shared(stmt.var):
            raise _UnknownError

    def _root(self, data: Any) -> tuple[int, int]:
        return self._alias.get(hash(data), (hash(data), 0))

    def _number(self, expr: Any) -> int:
        value = tree.constant(expr)
        if value is None:
            raise _UnknownError
        return value


def _runs(stmt: Any) -> bool:
    """Whether a statement has copies committed or waited for."""
    return any(_called(inner) in (COMMIT, WAIT) for inner in tree.walk(stmt))


def _is_shared(data: Any) -> bool:
    """Whether a variable points to shared memory."""
    scope = getattr(getattr(data, "type_annotation", None), "storage_scope", "")
    return str(scope).startswith("shared")


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
            _UnknownError: a read relies on no wait, or a copy is never read.
        """
        self._all(program)
        if self._state.flying:
            raise _UnknownError
        return self._allowed

    def _all(self, program: Sequence[Any]) -> None:
        for step in program:
            self._state.steps += 1
            if self._state.steps > _MOST_STEPS:
                raise _UnknownError
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
            raise _UnknownError
        number, committed = state.behind
        allowed = committed - newest - 1
        self._allowed[number] = min(allowed, self._allowed.get(number, allowed))
        state.flying = {there: group for there, group in state.flying.items() if group > newest}

    def _arms(self, arms: _Arms) -> None:
        """Run each arm on its own.

        Raises:
            _UnknownError: copies are in flight where they begin or end.
        """
        for program in arms.programs:
            self._land()
            self._all(program)
        self._land()

    def _land(self) -> None:
        if self._state.flying:
            raise _UnknownError
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

    def _place(self, touch: _Touch) -> Place:
        if touch.first is None:
            return (touch.root, 0, 1 << 40)
        values = tuple(sorted((hash(var), value) for var, value in self._values.items()))
        key = (id(touch), values)
        if key not in self._places:
            self._places[key] = self._bounded(touch)
        return self._places[key]

    def _bounded(self, touch: _Touch) -> Place:
        here = adapter()
        integers = {var: here.tir.IntImm(var.dtype, n) for var, n in self._values.items()}
        analyzer = here.tvm.arith.Analyzer()
        for var, (least, most) in touch.where.ranges.items():
            bound = here.tvm.ir.Range(least, most + 1)
            analyzer.bind(var, bound)
        with ExitStack() as known:
            for condition in touch.where.conditions:
                known.enter_context(analyzer.constraint_scope(_filled(condition, integers)))
            found = analyzer.const_int_bound(analyzer.simplify(_filled(touch.first, integers)))
        least, most = int(found.min_value), int(found.max_value)
        if least < 0 or most >= 1 << 31:
            return (touch.root, 0, 1 << 40)
        return (touch.root, least, most + touch.size - 1)


def _filled(expr: Any, values: Mapping[Any, Any]) -> Any:
    return substitute(expr, values) if values else expr


def _period(loop: _Loop) -> int:
    """After how many turns a loop touches the same again; 0 where it is not seen to."""
    firsts = [touch.first for touch in _touches(loop.body) if touch.first is not None]
    return next((period for period in _PERIODS if _repeats(loop.var, firsts, period)), 0)


def _repeats(var: Any, firsts: Sequence[Any], period: int) -> bool:
    here = adapter()
    later = {var: var + here.tir.IntImm(var.dtype, period)}
    moved = (here.simplify(_filled(first, later) - first) for first in firsts)
    return all(tree.constant(difference) == 0 for difference in moved)


def _touches(program: Sequence[Any]) -> Iterator[_Touch]:
    for step in program:
        if isinstance(step, _Loop):
            yield from _touches(step.body)
        elif isinstance(step, _Arms):
            for program in step.programs:
                yield from _touches(program)
        elif isinstance(step, _Access):
            yield from (*step.touches, *step.copies)
