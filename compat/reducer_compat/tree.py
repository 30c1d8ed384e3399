"""Walking and rebuilding TIR statements in Python, without a callback per expression.

TVM's own visitors call back once per node; a kernel has far more expressions than statements,
so kernels without reducers would pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import is_
from typing import Any

from reducer_compat.adapter import adapter
from reducer_compat.once import once

#: The classes of variables.
_VARIABLES = ("Var", "SizeVar")
Stmt = Any
Expr = Any
#: What becomes of a statement, by a function that goes on inside; None where it stays.
Enter = Callable[[Stmt, Callable[[Stmt], Stmt]], Stmt | None]


@lru_cache(maxsize=1)
def _inside() -> dict[type, Callable[[Stmt], tuple[Stmt, ...]]]:
    """How to get at the statements inside one, by its class.

    Looked up by exact class: `isinstance` of TVM's classes goes through `abc`, and every field
    read crosses into C++.
    """
    here = adapter()
    tir = here.tir
    return {
        tir.SeqStmt: lambda stmt: items(stmt.seq),
        tir.IfThenElse: lambda stmt: _present(stmt.then_case, stmt.else_case),
        here.block_realize: lambda stmt: (stmt.block,),
        here.block: lambda stmt: _present(stmt.init, stmt.body),
        tir.For: lambda stmt: (stmt.body,),
        tir.AttrStmt: lambda stmt: (stmt.body,),
        tir.Evaluate: lambda stmt: (),
        tir.BufferStore: lambda stmt: (),
    }


@lru_cache(maxsize=1)
def _array() -> tuple[Callable[[Any], int], Callable[[Any, int], Any]]:
    """How C++ says the length of an array, and an element."""
    from tvm_ffi import _ffi_api

    return _ffi_api.ArraySize, _ffi_api.ArrayGetItem


def items(array: Any) -> tuple[Any, ...]:
    """The elements of a TVM array, without its iterator in Python: that is ten times as slow."""
    size, element = _array()
    count = size(array)
    if count < 2:
        return (element(array, 0),) if count else ()
    return tuple(map(element, repeat(array, count), range(count)))


def first(array: Any) -> Any:
    """The first element of a TVM array, or None."""
    size, element = _array()
    return element(array, 0) if size(array) else None


def _present(*parts: Stmt) -> tuple[Stmt, ...]:
    return tuple(part for part in parts if part is not None)


def _body(stmt: Stmt) -> tuple[Stmt, ...]:
    return _present(getattr(stmt, "body", None))


@once
def children(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside `stmt`, in program order."""
    return _inside().get(type(stmt), _body)(stmt)


def walk(stmt: Stmt) -> Iterator[Stmt]:
    """Every statement under `stmt` and itself, outermost first, in program order."""
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node)[::-1])


def span_of(node: Any) -> Any:
    """The source span of a node, None where this release keeps none."""
    return getattr(node, "span", None)


@lru_cache(maxsize=1)
def _builders() -> dict[type, Callable[[Stmt, tuple[Stmt, ...]], Stmt]]:
    """How to make a statement with other statements inside, by its class."""
    here = adapter()
    tir = here.tir
    found = {
        tir.SeqStmt: lambda stmt, parts: sequence(parts, span_of(stmt)),
        tir.IfThenElse: lambda stmt, parts: tir.IfThenElse(
            stmt.condition, parts[0], parts[1] if len(parts) > 1 else None, span_of(stmt)
        ),
        here.block_realize: lambda stmt, parts: here.block_realize(
            stmt.iter_values, stmt.predicate, parts[0], span_of(stmt)
        ),
        here.block: lambda stmt, parts: here.block_copy(stmt, body=parts[-1]),
        tir.For: lambda stmt, parts: here.for_loop(stmt, body=parts[0]),
        tir.While: lambda stmt, parts: tir.While(stmt.condition, parts[0], span_of(stmt)),
        tir.AttrStmt: lambda stmt, parts: tir.AttrStmt(
            stmt.node, stmt.attr_key, stmt.value, parts[0], span_of(stmt)
        ),
    }
    if hasattr(tir, "LetStmt"):
        found[tir.LetStmt] = lambda stmt, parts: tir.LetStmt(
            stmt.var, stmt.value, parts[0], span_of(stmt)
        )
    if hasattr(tir, "Allocate"):
        found[tir.Allocate] = lambda stmt, parts: tir.Allocate(
            stmt.buffer_var,
            stmt.dtype,
            stmt.extents,
            stmt.condition,
            parts[0],
            stmt.annotations,
            span_of(stmt),
        )
        found[tir.DeclBuffer] = lambda stmt, parts: tir.DeclBuffer(
            stmt.buffer, parts[0], span_of(stmt)
        )
    return found


def rebuilt(stmt: Stmt, parts: tuple[Stmt, ...]) -> Stmt:
    """A statement with others inside.

    Raises:
        TypeError: it is of a class that holds none, or of an unknown one.
    """
    build = _builders().get(type(stmt))
    if build is None:
        raise TypeError(f"cannot rebuild a {type(stmt).__name__}")
    return build(stmt, parts)


def transform(stmt: Stmt, enter: Callable[[Stmt], Stmt | None]) -> Stmt:
    """Replace statements: where `enter` returns one, it stands in and is not entered again."""
    replaced = enter(stmt)
    if replaced is not None:
        return replaced
    before = children(stmt)
    if not before:
        return stmt
    after = tuple([transform(child, enter) for child in before])
    return stmt if all(map(is_, after, before)) else rebuilt(stmt, after)


def rewritten(func: Any, enter: Callable[[Stmt], Stmt | None]) -> Any:
    """A kernel with `transform` run on its body; the same kernel where nothing changes."""
    before = func.body
    after = transform(before, enter)
    return func if after is before else func.with_body(after)


def replaced(stmt: Stmt, replace: Callable[[Any], Any], *kinds: str) -> Stmt:
    """`stmt` with its nodes of the classes `kinds` as `replace` has them, innermost first.

    None leaves one as it is. The others are visited in C++.
    """
    tir = adapter().tir
    names = [f"{adapter().family}.{kind}" for kind in kinds]
    return tir.stmt_functor.ir_transform(stmt, None, replace, names)


def rewritten_by(func: Any, *rewritings: Mapping[type, Enter]) -> Any:
    """A kernel with several rewritings in one walk; the same kernel where nothing changes.

    A rewriting says what becomes of the statements of some classes, and is told how the walk goes
    on inside. No statement may be one for two of them.
    """
    found: dict[type, list[Enter]] = {}
    for rewriting in rewritings:
        for kind, enter in rewriting.items():
            found.setdefault(kind, []).append(enter)

    def inside(stmt: Stmt) -> Stmt:
        return transform(stmt, first_of)

    def first_of(stmt: Stmt) -> Stmt | None:
        for enter in found.get(type(stmt), ()):
            made = enter(stmt, inside)
            if made is not None:
                return made
        return None

    return rewritten(func, first_of) if found else func


@lru_cache(maxsize=1)
def branching() -> frozenset[type]:
    """The classes of statements that may not run what is inside them, or often."""
    tir = adapter().tir
    return frozenset({tir.For, tir.IfThenElse, tir.While})


def is_launch(stmt: Stmt) -> bool:
    """Whether a statement binds an index of blocks or threads."""
    return type(stmt) is adapter().tir.AttrStmt and stmt.attr_key == "thread_extent"


def thread_launch(body: Stmt) -> Stmt | None:
    """The statement that binds threadIdx.x, None where there is none."""
    launches = filter(is_launch, walk(body))
    return next((one for one in launches if str(one.node.thread_tag) == "threadIdx.x"), None)


def kernels(mod: Any) -> list[tuple[Any, Any]]:
    """The functions of a module that are TIR, with their names."""
    prim_func = adapter().tir.PrimFunc
    return [(name, func) for name, func in mod.functions.items() if type(func) is prim_func]


def target_kind(func: Any) -> str:
    """What a kernel is lowered for, `cuda` or `hip`; empty before that is known."""
    target = func.attrs["target"] if func.attrs and "target" in func.attrs else None
    return str(getattr(getattr(target, "kind", None), "name", ""))


def callee(expr: Expr) -> str:
    """The name of the operation that a call is of; empty for anything else."""
    return str(getattr(expr.op, "name", "")) if type(expr) is adapter().tir.Call else ""


def operation(expr: Expr) -> str:
    """The name of the operation that a call is of, without its dialect."""
    return callee(expr).rpartition(".")[2]


def allocated(stmts: Iterable[Stmt]) -> Iterator[Any]:
    """The buffers that the blocks among some statements allocate."""
    block = adapter().block
    for stmt in stmts:
        if type(stmt) is block:
            yield from items(stmt.alloc_buffers)


def nothing() -> Stmt:
    tir = adapter().tir
    return tir.Evaluate(tir.IntImm("int32", 0))


def is_nothing(stmt: Stmt) -> bool:
    tir = adapter().tir
    return type(stmt) is tir.Evaluate and type(stmt.value) is tir.IntImm


def sequence(parts: Any, span: Any = None) -> Stmt:
    """The statements one after another, without empty ones and nested sequences."""
    tir = adapter().tir
    flat: list[Stmt] = []
    for part in parts:
        if type(part) is tir.SeqStmt:
            flat.extend(items(part.seq))
        elif not is_nothing(part):
            flat.append(part)
    if not flat:
        return nothing()
    return flat[0] if len(flat) == 1 else tir.SeqStmt(flat, span)


@lru_cache(maxsize=1)
def _own() -> dict[type, Callable[[Stmt], tuple[Expr, ...]]]:
    """How to get at the expressions that a statement itself holds, by its class."""
    here = adapter()
    tir = here.tir
    none: tuple[Expr, ...] = ()
    return {
        tir.Evaluate: lambda stmt: (stmt.value,),
        tir.BufferStore: lambda stmt: (*items(stmt.indices), stmt.value),
        tir.IfThenElse: lambda stmt: (stmt.condition,),
        tir.While: lambda stmt: (stmt.condition,),
        tir.AssertStmt: lambda stmt: (stmt.condition,),
        tir.For: lambda stmt: (stmt.min, stmt.extent),
        tir.AttrStmt: lambda stmt: (stmt.value,),
        **dict.fromkeys((tir.SeqStmt, here.block, here.block_realize), lambda stmt: none),
    }


def _value(stmt: Stmt) -> tuple[Expr, ...]:
    value = getattr(stmt, "value", None)
    return (value,) if isinstance(value, adapter().tir.PrimExpr) else ()


@once
def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that `stmt` itself holds, not those of the statements inside it."""
    return _own().get(type(stmt), _value)(stmt)


@lru_cache(maxsize=1)
def _leaves() -> frozenset[type]:
    tir = adapter().tir
    return frozenset({tir.IntImm, tir.FloatImm, tir.StringImm, tir.Var, tir.SizeVar})


def nodes(expr: Expr) -> Sequence[Any]:
    """Every node of an expression, operands before the operator."""
    return (expr,) if type(expr) in _leaves() else _visited(expr)


@once
def _visited(expr: Expr) -> tuple[Any, ...]:
    found: list[Any] = []
    adapter().tir.stmt_functor.post_order_visit(expr, found.append)
    return tuple(found)


def among(inside: Iterable[Any], *classes: str) -> list[Any]:
    """Those nodes that are of some classes, by their names."""
    kinds = [getattr(adapter().tir, name) for name in classes]
    return [node for node in inside if type(node) in kinds]


def loads(expr: Expr) -> Sequence[Any]:
    """The buffer loads in an expression."""
    return () if type(expr) in _leaves() else _loads(expr)


@once
def _loads(expr: Expr) -> tuple[Any, ...]:
    return tuple(among(_visited(expr), "BufferLoad"))


def variables(expr: Expr) -> Sequence[Any]:
    """The variables an expression mentions."""
    return among((expr,), *_VARIABLES) if type(expr) in _leaves() else _variables(expr)


@once
def _variables(expr: Expr) -> tuple[Any, ...]:
    return tuple(among(_visited(expr), *_VARIABLES))


def constant(expr: Expr) -> int | None:
    """The value of an integer constant, or None."""
    if isinstance(expr, int):
        return expr
    return int(expr.value) if type(expr) is adapter().tir.IntImm else None
