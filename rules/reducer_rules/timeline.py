"""The epoch timeline: what happens to one reducer, in order, and under which control flow.

A front end builds one `Timeline` per reducer. Events keep the order of the program text (or of
the TIR); each carries the stack of loops and branches around it, outermost first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple, TypeVar

from reducer_rules.monoid import Op


class Span(NamedTuple):
    """A half-open range of source text.

    Lines count from 1. Columns count from 0 in UTF-8 bytes of the line, as in the standard
    library's `ast`. A front end without columns (TIR) leaves them 0.
    """

    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0


class LoopKind(Enum):
    """How a loop is executed; `TRACE` is a Python iteration unrolled while tracing."""

    PARALLEL = "T.Parallel"
    SERIAL = "T.serial"
    UNROLL = "T.unroll"
    PIPELINED = "T.Pipelined"
    PERSISTENT = "T.Persistent"
    VECTORIZED = "T.vectorized"
    WHILE = "while"
    TRACE = "Python iteration"
    UNKNOWN = "unknown"


class Condition(Enum):
    """When a branch condition is decided, and for whom."""

    COMPILE_TIME = "compile-time"
    UNIFORM = "run-time uniform"
    THREAD = "thread-dependent"
    UNKNOWN = "unknown"


class Loop(NamedTuple):
    """One loop around an event. `ident` is unique per loop statement in the function.

    `stages` is None where it is not static; `staged` says that the loop copies to shared memory,
    `by_tma` that a statement of its own may do so by TMA.
    """

    ident: int
    kind: LoopKind
    span: Span
    variables: tuple[str, ...] = ()
    extents: tuple[int | None, ...] = ()
    stages: int | None = None
    staged: bool = False
    by_tma: bool = True


class Branch(NamedTuple):
    """One arm of a conditional: arm 0 is the `if` body, 1 the `else` (an `elif` nests)."""

    ident: int
    arm: int
    condition: Condition
    span: Span
    text: str = ""


Frame = Loop | Branch
Context = tuple[Frame, ...]


class Fill(NamedTuple):
    """The value an epoch is opened with.

    `number` is set where the value is a static number (infinities included), `limit` where it
    is the `"lowest"` or `"highest"` value of `dtype`, whatever that dtype is.
    """

    text: str
    number: float | int | None = None
    limit: str | None = None
    dtype: str | None = None


class Index(NamedTuple):
    """One index expression: its text, its value where static, its name where a plain variable."""

    text: str
    value: int | None = None
    variable: str | None = None


class Batch(NamedTuple):
    """The `batch` of a finalize: its text, its value where static, and how it was passed."""

    text: str
    value: int | None = None
    positional: bool = False


class InitForm(Enum):
    CLEAR = "T.clear"
    FILL = "T.fill"
    REDUCER_INIT = "T.reducer_init"


class UpdateForm(Enum):
    AUGMENTED = "augmented assignment"
    SUBTRACT = "subtraction"
    COMBINE = "combine store"
    SHIPPED = "T.reducer_update(acc[i], value)"
    RFC = "T.reducer_update(acc, i, value)"


class Operands(Enum):
    """What a parallel loop nest accesses beside reducers, as far as it decides the loop's layout.

    `MEMORY` is global and shared memory only. `ELEMENTWISE` adds fragments, in a function that
    uses its fragments only in `T.copy`, `T.clear`, `T.fill` and the bodies of parallel loops.
    `COLLECTIVE` is an access to a fragment in a function where some fragment is an operand of
    another tile operation (`T.gemm`, `T.reduce_max`, ...) or stands for a whole row or column of a
    loop nest (`scale[i]` in a loop over `i, j`), which gives it a layout of its own.
    """

    MEMORY = "memory"
    ELEMENTWISE = "elementwise fragments"
    COLLECTIVE = "fragments of a collective operation"


class RowValues(NamedTuple):
    """One value for each row of a tile, which a parallel loop over the rows reads.

    The tile is a fragment of `rows` x `columns` elements of `bits` that a copy fills, so that its
    layout is known: several threads share a row, and each of them holds the value. `reducer` says
    that they are the result of another reducer, else of a `T.reduce`.
    """

    name: str
    rows: int
    columns: int
    bits: int
    reducer: bool = False


class LoadForm(Enum):
    ELEMENT = "element"
    WHOLE = "whole buffer"


class EscapeKind(Enum):
    ALIAS = "is bound to another name"
    ARGUMENT = "is passed to a function"
    RECURSION = "is passed on by a macro that calls itself"
    RETURN = "is returned"
    CAPTURE = "is used by a nested function"
    REBIND = "is bound again to something else"
    CONTAINER = "is stored in a container"
    ADDRESS = "has its storage taken"
    DELETE = "is deleted"
    TARGET = "is not bound to a plain name"
    OPERAND = "is used as an operand of another operation"
    UNPACKED = "is given to a call whose arguments are not spelled out"
    PARAMETER = "is given to a call with an argument that v2 has no place for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happens to the reducer. `ident` orders events within the function."""

    ident: int
    span: Span
    context: Context = ()

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(frame for frame in self.context if isinstance(frame, Loop))

    @property
    def branches(self) -> tuple[Branch, ...]:
        return tuple(frame for frame in self.context if isinstance(frame, Branch))

    @property
    def in_parallel(self) -> bool:
        return any(loop.kind is LoopKind.PARALLEL for loop in self.loops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alloc(Event):
    """`T.alloc_reducer`. `shape` is None where the rank is unknown, an extent None where symbolic.

    `op` is None where the combine is not statically known; `dtype` is the resolved spelling.
    """

    shape: tuple[int | None, ...] | None = None
    shape_text: str = ""
    dtype: str | None = None
    dtype_text: str = ""
    op: Op | None = Op.SUM
    op_text: str | None = None
    replication: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Init(Event):
    """The opening of an epoch; `fill` is None for an opening at the identity.

    `behind` is the first pipelined loop of the kernel that copies to shared memory, where that
    stands before the opening; `withheld` is the loop around it whose producers would have it to
    themselves.
    """

    form: InitForm
    fill: Fill | None = None
    behind: Loop | None = None
    withheld: Loop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Event):
    """One site of contributions. `combine` is None in v2 spelling: it is the reducer's own.

    `contribution` is the text of the value without the reducer, empty where it has none.
    `operands` tells of the outermost parallel loop around the update, None where unknown;
    `row_values` is what that loop reads where that is one value for each row of a tile; `tile` are
    the variables of its nest where it goes over all of a fragment, in the order of the fragment's
    axes, else empty; `part_tiles` are those of each fragment that a copy fills and that has fewer
    axes than the nest. `touches_memory` says that the nest accesses global or shared memory and
    stores to no fragment. `withheld` is the pipelined loop around it whose producers would have it,
    or a copy that it reads, to themselves.
    """

    form: UpdateForm
    combine: Op | None = None
    indices: tuple[Index, ...] = ()
    contribution: str = ""
    contribution_dtype: str | None = None
    value_span: Span | None = None
    operands: Operands | None = None
    row_values: RowValues | None = None
    tile: tuple[str, ...] = ()
    part_tiles: tuple[tuple[str, ...], ...] = ()
    touches_memory: bool = False
    withheld: Loop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Event):
    """A store that is no update: `what` says how it was written."""

    what: str
    indices: tuple[Index, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Event):
    """A read of the reducer; `holder` is the ident of the event whose statement reads it."""

    form: LoadForm
    indices: tuple[Index, ...] = ()
    holder: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalize(Event):
    """The closing of an epoch; `destination` is None in place.

    `destination_start` says where a part of a buffer begins, along each of its axes; empty where
    the destination is a whole buffer. `stored_only` says that the result goes to memory, element by
    element, and is read for nothing else.
    """

    destination: str | None = None
    destination_dtype: str | None = None
    destination_shape: tuple[int | None, ...] | None = None
    batch: Batch | None = None
    destination_is_reducer: bool = False
    destination_start: tuple[Index, ...] = ()
    stored_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Escape(Event):
    """A use that the model cannot follow."""

    kind: EscapeKind
    detail: str = ""


class Kernel(NamedTuple):
    """What is known of the kernel around the reducer.

    `threads` is the static thread count of `T.Kernel`; `warp_specialized` is False where the
    source turns it off for every compile, None where unknown.
    """

    name: str = ""
    threads: int | None = None
    warp_specialized: bool | None = None


class Dialect(Enum):
    V1 = "v1"
    SHIPPED = "shipped"
    RFC = "rfc"


_E = TypeVar("_E", bound=Event)


@dataclass(frozen=True)
class Timeline:
    """Everything that happens to one reducer of one function.

    `events` are in program order. An `Escape` event says where the front end lost track
    of the reducer. Every rule asks the same questions of
    it, so it keeps the answers.
    """

    name: str
    events: tuple[Event, ...]
    kernel: Kernel = field(default_factory=Kernel)

    def of(self, kind: type[_E]) -> tuple[_E, ...]:
        """The events of one kind, in order."""
        return tuple(event for event in self.events if isinstance(event, kind))

    @cached_property
    def allocs(self) -> tuple[Alloc, ...]:
        return self.of(Alloc)

    @cached_property
    def inits(self) -> tuple[Init, ...]:
        return self.of(Init)

    @cached_property
    def updates(self) -> tuple[Update, ...]:
        return self.of(Update)

    @cached_property
    def finalizes(self) -> tuple[Finalize, ...]:
        return self.of(Finalize)

    @cached_property
    def op(self) -> Op | None:
        """The combine, where every allocation agrees on a static one."""
        ops = {alloc.op for alloc in self.allocs}
        return ops.pop() if len(ops) == 1 else None

    @cached_property
    def dtype(self) -> str | None:
        dtypes = {alloc.dtype for alloc in self.allocs}
        return dtypes.pop() if len(dtypes) == 1 else None

    @cached_property
    def shape(self) -> tuple[int | None, ...] | None:
        shapes = {alloc.shape for alloc in self.allocs}
        return shapes.pop() if len(shapes) == 1 else None

    @cached_property
    def needs_v2(self) -> bool:
        """Whether some statement does not compile below TileLang 0.1.14."""
        return (
            bool(self.dialects() - {Dialect.V1})
            or any(init.form is InitForm.REDUCER_INIT for init in self.inits)
            or any(finalize.destination is not None for finalize in self.finalizes)
        )

    def dialects(self) -> frozenset[Dialect]:
        """The spellings this reducer's statements are written in; empty where any would do."""
        return frozenset(filter(None, map(dialect_of, self.events)))


def dialect_of(event: Event) -> Dialect | None:
    """The spelling that `event` belongs to, or None where it is common to several."""
    if isinstance(event, Alloc):
        return Dialect.V1 if event.replication is not None else None
    if isinstance(event, Init):
        return None if event.form is InitForm.REDUCER_INIT else Dialect.V1
    if isinstance(event, Update):
        return {UpdateForm.SHIPPED: Dialect.SHIPPED, UpdateForm.RFC: Dialect.RFC}.get(
            event.form, Dialect.V1
        )
    return None


def enclosing(outer: Context, inner: Context) -> bool:
    """Whether `outer` is `inner` or a control-flow scope around it."""
    return inner[: len(outer)] == outer


def exclusive(left: Context, right: Context) -> bool:
    """Whether two contexts lie in different arms of one conditional."""
    for a, b in zip(left, right, strict=False):
        if a == b:
            continue
        return (
            isinstance(a, Branch)
            and isinstance(b, Branch)
            and a.ident == b.ident
            and a.arm != b.arm
        )
    return False


def pairs(events: tuple[_E, ...]) -> Iterator[tuple[_E, _E]]:
    """Every unordered pair of `events`, the earlier one first."""
    for position, later in enumerate(events):
        for earlier in events[:position]:
            yield earlier, later
