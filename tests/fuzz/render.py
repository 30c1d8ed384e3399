"""The text of a kernel, in one of four spellings.

legacy    v1 for every reducer that v1 can say, v2 as shipped for the others
shipped   v2 as TileLang 0.1.14 and later have it
rfc       v2 as the RFC has it
control   no reducer: contributions go to global memory, results are cleared fragments; what
          cannot be lowered in this spelling is beyond TileLang, whatever reducers do
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.fuzz.expression import Binary, Expr, Naming, Number, Unary, indices_text, is_float, text
from tests.fuzz.kernel import (
    Allocate,
    Clear,
    Close,
    Copy,
    CopyOut,
    If,
    Kernel,
    Loop,
    Open,
    Reducer,
    Stmt,
    Store,
    Update,
    children,
)

SPELLINGS = ("legacy", "shipped", "rfc", "control")
_UNIT = "    "


def module(kernel: Kernel, spelling: str) -> str:
    """A module whose `build()` returns the kernel."""
    return "\n".join(_Writer(kernel, spelling).lines()) + "\n"


@dataclass
class _Writer:
    kernel: Kernel
    spelling: str
    axes: list[tuple[str, int]] = field(default_factory=list)
    sinks: list[str] = field(default_factory=list)
    bound: int = 0

    @property
    def naming(self) -> Naming:
        return Naming(self._result)

    def _legacy(self, reducer: Reducer) -> bool:
        return self.spelling == "legacy" and reducer.legacy

    def _implicit(self, reducer: Reducer) -> bool:
        return (
            self.spelling == "rfc"
            and reducer.implicit
            and reducer.seed is None
            and _opened_beside(self.kernel.body, reducer.name)
        )

    def _result(self, name: str) -> str:
        reducer = self.kernel.reducer(name)
        in_place = self._legacy(reducer) or self._implicit(reducer)
        return name if in_place else f"{name}_result"

    def lines(self) -> Iterator[str]:
        body = list(_indented(self._block(self.kernel.body), 4))
        yield "import tilelang.language as T"
        yield ""
        yield ""
        yield "def build():"
        yield f"{_UNIT}@T.prim_func"
        yield f"{_UNIT}def kernel("
        for one in self.kernel.parameters:
            yield f'{_UNIT * 2}{one.name}: T.Tensor({one.shape}, "{one.dtype}"),'
        yield from (f"{_UNIT * 2}{sink}," for sink in self.sinks)
        yield f"{_UNIT}):"
        launch = f"{self.kernel.blocks}, threads={self.kernel.threads}"
        yield f"{_UNIT * 2}with T.Kernel({launch}) as bx:"
        yield from _indented(self._buffers(), 3)
        yield from (line[len(_UNIT) :] for line in body)
        yield ""
        yield f"{_UNIT}return kernel"

    def _buffers(self) -> Iterator[str]:
        for buffer in self.kernel.buffers:
            yield f'{buffer.name} = T.alloc_{buffer.scope}({buffer.shape}, "{buffer.dtype}")'

    def _block(self, body: tuple[Stmt, ...]) -> Iterator[str]:
        for stmt in body:
            yield from self._statement(stmt)

    def _statement(self, stmt: Stmt) -> Iterator[str]:
        if isinstance(stmt, (Allocate, Open, Close)):
            yield from self._epoch(stmt, self.kernel.reducer(stmt.reducer))
        elif isinstance(stmt, Update):
            yield from self._update(stmt)
        elif isinstance(stmt, Store):
            sign = "+=" if stmt.augmented else "="
            yield f"{self._at(stmt.buffer, stmt.indices)} {sign} {self._text(stmt.value)}"
        elif isinstance(stmt, Clear):
            yield f"T.clear({stmt.buffer})"
        elif isinstance(stmt, Copy):
            yield f"T.copy({self._source(stmt)}, {stmt.target})"
        elif isinstance(stmt, CopyOut):
            yield self._copy_out(stmt)
        elif isinstance(stmt, If):
            yield from self._branch(stmt)
        else:
            yield from self._loop(stmt)

    def _text(self, expr: Expr) -> str:
        return text(expr, self.naming)

    def _at(self, name: str, indices: Iterable[Expr]) -> str:
        return f"{name}[{indices_text(tuple(indices), self.naming)}]"

    # -- epochs -----------------------------------------------------------------------------------

    def _epoch(self, stmt: Stmt, reducer: Reducer) -> Iterator[str]:
        if self.spelling == "control":
            if isinstance(stmt, Allocate):
                yield self._fragment(reducer)
            if isinstance(stmt, Close):
                yield f"T.clear({reducer.name}_result)"
        elif isinstance(stmt, Allocate):
            yield from self._allocate(reducer)
        elif isinstance(stmt, Open):
            yield from self._open(reducer)
        else:
            yield self._close(reducer)

    def _fragment(self, reducer: Reducer) -> str:
        return f'{reducer.name}_result = T.alloc_fragment({reducer.shape}, "{reducer.dtype}")'

    def _allocate(self, reducer: Reducer) -> Iterator[str]:
        style, legacy = reducer.allocation, self._legacy(reducer)
        extents = ", ".join(map(str, reducer.shape))
        shapes = [f"({extents},)", f"[{extents}]", extents if len(reducer.shape) == 1 else None]
        ops = [f', op="{reducer.op}"', f', "{reducer.op}"', "" if reducer.op == "sum" else None]
        hints = [', replication="all"', ', replication="none"', ""] if legacy else [""]
        shape = shapes[style % 3] or shapes[0]
        op = ops[style // 3 % 3] if ops[style // 3 % 3] is not None else ops[0]
        hint = hints[style // 9 % len(hints)]
        yield f'{reducer.name} = T.alloc_reducer({shape}, "{reducer.dtype}"{op}{hint})'
        if not legacy and not self._implicit(reducer):
            yield self._fragment(reducer)

    def _open(self, reducer: Reducer) -> Iterator[str]:
        if self._legacy(reducer):
            yield self._legacy_open(reducer)
        elif reducer.seed is not None:
            yield f"T.reducer_init({reducer.name}, {self._text(reducer.seed)})"
        elif not self._implicit(reducer):
            yield f"T.reducer_init({reducer.name})"

    def _legacy_open(self, reducer: Reducer) -> str:
        name, dtype = reducer.name, reducer.dtype
        if reducer.op == "sum" or reducer.seed == Number(0):
            zero = "0.0" if reducer.opening == 2 and is_float(dtype) else "0"
            return f"T.clear({name})" if reducer.opening == 0 else f"T.fill({name}, {zero})"
        if reducer.seed is not None:
            return f"T.fill({name}, {self._text(reducer.seed)})"
        sign = "-" if reducer.op == "max" else ""
        if not is_float(dtype):
            least = "min" if reducer.op == "max" else "max"
            return f'T.fill({name}, T.{least}_value("{dtype}"))'
        if reducer.opening == 1:
            return f'T.fill({name}, float("{sign}inf"))'
        return f'T.fill({name}, {sign}T.infinity("{dtype}"))'

    def _close(self, reducer: Reducer) -> str:
        in_place = self._legacy(reducer) or self._implicit(reducer)
        destination = "" if in_place else f", {reducer.name}_result"
        batch = "" if reducer.batch == 1 else f", batch={reducer.batch}"
        if batch and self._legacy(reducer) and reducer.allocation % 2:
            batch = f", {reducer.batch}"
        return f"T.finalize_reducer({reducer.name}{destination}{batch})"

    # -- updates ----------------------------------------------------------------------------------

    def _update(self, stmt: Update) -> Iterator[str]:
        reducer, value = self.kernel.reducer(stmt.reducer), self._text(stmt.value)
        plain = stmt.bound and not isinstance(stmt.value, Number)
        if plain:
            self.bound += 1
            yield f"value{self.bound} = {value}"
            value = f"value{self.bound}"
        if self.spelling == "control":
            yield self._sunk(reducer, value)
        elif self._legacy(reducer):
            yield self._legacy_update(stmt, reducer, value, None if plain else stmt.value)
        elif self.spelling == "rfc":
            indices = self._indices(stmt)
            yield f"T.reducer_update({reducer.name}, {indices}, {value})"
        else:
            yield f"T.reducer_update({self._at(reducer.name, stmt.indices)}, {value})"

    def _indices(self, stmt: Update) -> str:
        indices = indices_text(stmt.indices, self.naming)
        if len(stmt.indices) > 1:
            return f"({indices})"
        return f"({indices},)" if stmt.form % 2 else indices

    def _legacy_update(self, stmt: Update, reducer: Reducer, value: str, expr: Expr | None) -> str:
        target = self._at(reducer.name, stmt.indices)
        if reducer.op == "sum":
            return self._sum(target, value, expr, stmt.form)
        if isinstance(expr, Binary) and expr.op == reducer.op and stmt.form % 3 == 2:
            first, second = self._text(expr.left), self._text(expr.right)
            return f"{target} = T.{expr.op}(T.{expr.op}({target}, {first}), {second})"
        pair = [target, value] if stmt.form % 2 == 0 else [value, target]
        return f"{target} = T.{reducer.op}({', '.join(pair)})"

    def _sum(self, target: str, value: str, expr: Expr | None, form: int) -> str:
        if isinstance(expr, Binary) and expr.op in ("+", "-") and form % 4 == 3:
            right = self._text(expr.right)
            right = f"({right})" if isinstance(expr.right, (Binary, Unary)) else right
            return f"{target} = {target} + {self._text(expr.left)} {expr.op} {right}"
        if isinstance(expr, Unary) and expr.op == "-" and form % 4 >= 2:
            return f"{target} -= {self._text(expr.operand)}"
        bracketed = f"({value})" if isinstance(expr, (Binary, Unary)) else value
        spelled = {0: f"{target} += {value}", 1: f"{target} = {target} + {bracketed}"}
        return spelled.get(form % 4, f"{target} = {bracketed} + {target}")

    def _sunk(self, reducer: Reducer, value: str) -> str:
        """A store to global memory in the place of an update."""
        name = f"S{len(self.sinks)}"
        shape = tuple(extent for _, extent in self.axes)
        self.sinks.append(f'{name}: T.Tensor({shape}, "{reducer.dtype}")')
        return f"{name}[{', '.join(axis for axis, _ in self.axes)}] = {value}"

    # -- copies, branches and loops ---------------------------------------------------------------

    def _source(self, stmt: Copy) -> str:
        shape, start = self.kernel.shape_of(stmt.target), stmt.start
        if not stmt.sliced:
            return stmt.source if not start else self._at(stmt.source, start)
        leading = len(start) - len(shape)
        parts = [self._text(index) for index in start[:leading]]
        parts += [self._slice(i, n) for i, n in zip(start[leading:], shape, strict=True)]
        return f"{stmt.source}[{', '.join(parts)}]"

    def _slice(self, start: Expr, extent: int) -> str:
        if isinstance(start, Number):
            return f"{start.value}:{start.value + extent}"
        return f"{self._text(start)} : {self._text(start)} + {extent}"

    def _copy_out(self, stmt: CopyOut) -> str:
        reducers = {reducer.name for reducer in self.kernel.reducers}
        source = self._result(stmt.source) if stmt.source in reducers else stmt.source
        rest = self.kernel.shape_of(stmt.output)[len(stmt.start) :]
        parts = [self._text(index) for index in stmt.start] + [f"0:{n}" for n in rest]
        return f"T.copy({source}, {stmt.output}[{', '.join(parts)}])"

    def _branch(self, stmt: If) -> Iterator[str]:
        yield f"if {self._text(stmt.condition)}:"
        yield from _indented(self._block(stmt.then), 1)
        if stmt.other:
            yield "else:"
            yield from _indented(self._block(stmt.other), 1)

    def _loop(self, stmt: Loop) -> Iterator[str]:
        if stmt.kind == "nested":
            yield from self._nested(stmt)
            return
        extents = ", ".join(map(str, stmt.extents))
        heads = {
            "parallel": f"T.Parallel({extents})",
            "serial": f"T.serial({extents})",
            "unroll": f"T.unroll({extents})",
            "range": f"range({extents})",
            "pipelined": f"T.Pipelined({extents}, num_stages={stmt.stages})",
        }
        yield f"for {', '.join(stmt.variables)} in {heads[stmt.kind]}:"
        yield from _indented(self._inside(stmt), 1)

    def _nested(self, stmt: Loop) -> Iterator[str]:
        for depth, (variable, extent) in enumerate(zip(stmt.variables, stmt.extents, strict=True)):
            yield from _indented([f"for {variable} in T.Parallel({extent}):"], depth)
        yield from _indented(self._inside(stmt), len(stmt.variables))

    def _inside(self, stmt: Loop) -> list[str]:
        added = list(zip(stmt.variables, stmt.extents, strict=True)) if stmt.parallel else []
        self.axes += added
        lines = list(self._block(stmt.body))
        del self.axes[len(self.axes) - len(added) :]
        return lines


def _indented(lines: Iterable[str], depth: int) -> Iterator[str]:
    return (_UNIT * depth + line for line in lines)


def _opened_beside(body: tuple[Stmt, ...], name: str) -> bool:
    """Whether a reducer is allocated and opened in one statement list."""
    if Allocate(name) in body:
        return Open(name) in body
    return any(_opened_beside(inner, name) for stmt in body for inner in children(stmt))
