"""What a kernel is: plain data that is rendered, evaluated, shrunk, and kept as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz import expression
from tests.fuzz.expression import Expr


@dataclass(frozen=True)
class Array:
    """An input: elements drawn from `values` by a generator of its own."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    values: tuple[int, ...]
    seed: int

    def content(self) -> np.ndarray:
        drawn = np.random.default_rng(self.seed).choice(np.array(self.values), self.shape)
        return np.asarray(drawn).astype(numpy_dtype(self.dtype))


@dataclass(frozen=True)
class Buffer:
    """A tile in shared memory, or a fragment."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scope: str


@dataclass(frozen=True)
class Output:
    """An output, all of whose elements the kernel writes."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Reducer:
    """A reducer and its spelling.

    Attributes:
        seed: the start of an epoch; None for the identity.
        legacy: whether v1 can say it.
        opening: which of the v1 openings; see `render`.
        allocation: which of the spellings of `T.alloc_reducer`.
        batch: the hint of the finalize; 1 leaves it out.
        implicit: the RFC's spelling leaves out the opening where it may, and the destination.
    """

    name: str
    op: str
    dtype: str
    shape: tuple[int, ...]
    seed: Expr | None
    legacy: bool
    opening: int = 0
    allocation: int = 0
    batch: int = 1
    implicit: bool = False


@dataclass(frozen=True)
class Allocate:
    """Where a reducer (and, in v2, the fragment of its result) is allocated."""

    reducer: str


@dataclass(frozen=True)
class Open:
    """Starts an epoch."""

    reducer: str


@dataclass(frozen=True)
class Close:
    """Finalizes an epoch."""

    reducer: str


@dataclass(frozen=True)
class Update:
    """One site. `form` picks a v1 spelling; `bound` names the contribution in a line before."""

    reducer: str
    indices: tuple[Expr, ...]
    value: Expr
    form: int = 0
    bound: bool = False


@dataclass(frozen=True)
class Store:
    """An ordinary store; `augmented` adds to what is there."""

    buffer: str
    indices: tuple[Expr, ...]
    value: Expr
    augmented: bool = False


@dataclass(frozen=True)
class Clear:
    """`T.clear` of a fragment that is no reducer."""

    buffer: str


@dataclass(frozen=True)
class Copy:
    """`T.copy` from an array into a tile: the last axes are copied, the first are `start`ed at.

    Elements past the end of the array are 0. `sliced` is the spelling of the source.
    """

    source: str
    start: tuple[Expr, ...]
    target: str
    sliced: bool = True


@dataclass(frozen=True)
class CopyOut:
    """`T.copy` of a result or a fragment to an output, at the leading indices `start`."""

    source: str
    output: str
    start: tuple[Expr, ...]


@dataclass(frozen=True)
class If:
    """A condition; the second arm may be empty."""

    condition: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Loop:
    """A loop: parallel, nested (one `T.Parallel` per axis), serial, unroll, range or pipelined."""

    kind: str
    variables: tuple[str, ...]
    extents: tuple[int, ...]
    body: tuple[Stmt, ...]
    stages: int = 0

    @property
    def parallel(self) -> bool:
        return self.kind in ("parallel", "nested")


Stmt = Allocate | Open | Close | Update | Store | Clear | Copy | CopyOut | If | Loop


@dataclass(frozen=True)
class Kernel:
    """A kernel. `name` is seed and number; `arch` what it is lowered for."""

    name: str
    arch: str
    blocks: int
    threads: int
    arrays: tuple[Array, ...]
    buffers: tuple[Buffer, ...]
    reducers: tuple[Reducer, ...]
    outputs: tuple[Output, ...]
    body: tuple[Stmt, ...]

    def reducer(self, name: str) -> Reducer:
        return next(reducer for reducer in self.reducers if reducer.name == name)

    def named(self, name: str) -> Array | Buffer | Reducer | Output:
        """Whatever is called `name`."""
        held: tuple[tuple[Array | Buffer | Reducer | Output, ...], ...]
        held = (self.arrays, self.buffers, self.reducers, self.outputs)
        return next(one for group in held for one in group if one.name == name)

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of whatever is called `name`."""
        return self.named(name).shape

    @property
    def parameters(self) -> tuple[Array | Output, ...]:
        """The parameters, outputs last."""
        return (*self.arrays, *self.outputs)


def children(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The statement lists directly inside a statement."""
    if isinstance(stmt, Loop):
        return (stmt.body,)
    return (stmt.then, stmt.other) if isinstance(stmt, If) else ()


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outermost first."""
    for stmt in body:
        yield stmt
        for inner in children(stmt):
            yield from walk(inner)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement holds itself."""
    if isinstance(stmt, (Update, Store)):
        return (*stmt.indices, stmt.value)
    if isinstance(stmt, (Copy, CopyOut)):
        return stmt.start
    return (stmt.condition,) if isinstance(stmt, If) else ()


def numpy_dtype(dtype: str) -> Any:
    """The numpy dtype of a TileLang dtype; bfloat16 comes from ml_dtypes."""
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


_CLASSES: dict[str, Any] = {
    found.__name__: found
    for module in (globals(), vars(expression))
    for found in module.values()
    if isinstance(found, type) and dataclasses.is_dataclass(found)
}


def encoded(node: Any) -> Any:
    """A description as JSON values: dataclasses become objects that name their class."""
    if dataclasses.is_dataclass(node):
        fields = {f.name: encoded(getattr(node, f.name)) for f in dataclasses.fields(node)}
        return {"is": type(node).__name__, **fields}
    return [encoded(item) for item in node] if isinstance(node, tuple) else node


def decoded(data: Any) -> Any:
    """The description that `encoded` gave."""
    if isinstance(data, dict):
        fields = {name: decoded(held) for name, held in data.items() if name != "is"}
        return _CLASSES[data["is"]](**fields)
    return tuple(map(decoded, data)) if isinstance(data, list) else data
