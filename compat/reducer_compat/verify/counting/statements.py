"""The statements of a traced kernel, run in order by all lanes together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import numpy as np

from reducer_rules.monoid import Op

from .expressions import dtype_of, value
from .lanes import Uncountable
from .machine import Machine, constant
from .operations import operation
from .updates import terms

_PER_THREAD = ("local", "local.var")
#: Iterations of a `while` loop before it is refused.
_MOST_STEPS = 1 << 18
_ANNOTATIONS = ("reducer_info", "reducer_info_v2")


def run(machine: Machine, stmt: Any) -> None:
    """Run one statement.

    Raises:
        Uncountable: it, or a part of it, is not known here.
    """
    runner = _RUNNERS.get(type(stmt).__name__)
    if runner is None:
        raise Uncountable(f"the statement {type(stmt).__name__}")
    if machine.lanes.any_active():
        runner(machine, stmt)


def _sequence(machine: Machine, stmt: Any) -> None:
    for each in stmt.seq:
        run(machine, each)


def _attribute(machine: Machine, stmt: Any) -> None:
    run(machine, stmt.body)


def _assertion(machine: Machine, stmt: Any) -> None:
    if getattr(stmt, "body", None) is not None:
        run(machine, stmt.body)


def _realize(machine: Machine, stmt: Any) -> None:
    run(machine, stmt.block)


def _block(machine: Machine, stmt: Any) -> None:
    for key in _ANNOTATIONS:
        for data, info in dict(stmt.annotations.get(key, {})).items():
            machine.reducers[data] = Op(str(info["op"]))
    for buffer in stmt.alloc_buffers:
        machine.allocate(buffer)
    run(machine, stmt.body)


def _alloc(machine: Machine, stmt: Any) -> None:
    machine.allocate(stmt.buffer)
    if getattr(stmt, "body", None) is not None:
        run(machine, stmt.body)


def _declare(machine: Machine, stmt: Any) -> None:
    if getattr(stmt, "body", None) is not None:
        run(machine, stmt.body)


def _let(machine: Machine, stmt: Any) -> None:
    machine.bind(stmt.var, stmt.value)
    run(machine, stmt.body)


def _bind(machine: Machine, stmt: Any) -> None:
    machine.bind(stmt.var, stmt.value)


def _for(machine: Machine, stmt: Any) -> None:
    if stmt.thread_binding is not None:
        run(machine, stmt.body)
        return
    with machine.as_threads([stmt.min, stmt.extent]):
        if stmt.kind == machine.tir.module.ForKind.PARALLEL:
            _parallel(machine, stmt)
        else:
            _serial(machine, stmt)


def _parallel(machine: Machine, stmt: Any) -> None:
    if machine.in_threads:
        raise Uncountable("T.Parallel inside a condition on the thread")
    extents = machine.lanes.spread(value(machine, stmt.extent))
    first = value(machine, stmt.min)
    outer, machine.in_parallel = machine.in_parallel, True
    with machine.lanes.axis(int(extents.max())) as position:
        machine.env[stmt.loop_var] = (first + position).astype(dtype_of(stmt.loop_var))
        with machine.lanes.where(position < value(machine, stmt.extent)):
            run(machine, stmt.body)
    machine.in_parallel = outer


def _serial(machine: Machine, stmt: Any) -> None:
    first, extent = value(machine, stmt.min), value(machine, stmt.extent)
    step = getattr(stmt, "step", None)
    stride = 1 if step is None else constant(value(machine, step))
    with _leaving(machine, stmt):
        for position in range(int(machine.lanes.spread(extent).max())):
            machine.env[stmt.loop_var] = dtype_of(stmt.loop_var).type(position * stride) + first
            with machine.lanes.where(position < np.asarray(extent)):
                run(machine, stmt.body)


def _leaving(machine: Machine, loop: Any) -> AbstractContextManager[None]:
    """What a loop does to lanes that leave it: `break` ends the loop, a return everything."""
    calls = [node for node in machine.tir.nodes(loop) if type(node).__name__ == "Call"]
    names = {machine.tir.op_name(call).rsplit(".", 1)[-1] for call in calls}
    if {"loop_break", "thread_return"} <= names:
        raise Uncountable("a loop with both a break and a return")
    return machine.lanes.rejoin() if "loop_break" in names else nullcontext()


def _while(machine: Machine, stmt: Any) -> None:
    with ExitStack() as stack:
        for _ in range(_MOST_STEPS):
            stack.enter_context(machine.lanes.where(value(machine, stmt.condition)))
            if not machine.lanes.any_active():
                return
            run(machine, stmt.body)
    raise Uncountable(f"a while loop of more than {_MOST_STEPS} iterations")


def _branch(machine: Machine, stmt: Any) -> None:
    with machine.as_threads([stmt.condition]):
        chosen = np.asarray(value(machine, stmt.condition), np.bool_)
        with machine.lanes.where(chosen):
            run(machine, stmt.then_case)
        if stmt.else_case is not None:
            with machine.lanes.where(~chosen):
                run(machine, stmt.else_case)


def _evaluate(machine: Machine, stmt: Any) -> None:
    if type(stmt.value).__name__ == "Call":
        operation(machine, stmt.value)


def _store(machine: Machine, stmt: Any) -> None:
    with machine.as_threads([*stmt.indices, stmt.value]):
        if str(stmt.buffer.scope()) in _PER_THREAD and (machine.in_threads or machine.in_parallel):
            raise Uncountable(f"{stmt.buffer.name}, of which every thread has its own")
        _store_statement(machine, stmt)


def _store_statement(machine: Machine, stmt: Any) -> None:
    indices = [value(machine, index) for index in stmt.indices]
    equal = _same_element(stmt)
    builds_on_itself = any(map(equal, machine.tir.nodes(stmt.value)))
    if builds_on_itself and stmt.buffer.data in machine.reducers:
        machine.contributions += machine.lanes.count()
    found = terms(machine.tir, stmt.value, equal) if builds_on_itself else None
    apart = not builds_on_itself or machine.apart(stmt.buffer, indices)
    if found is not None and not (apart and machine.exact(stmt.buffer)):
        op, rest = found
        for term in rest:
            added = -value(machine, term[1]) if isinstance(term, tuple) else value(machine, term)
            machine.store(stmt.buffer, indices, added, op)
    elif apart:
        machine.store(stmt.buffer, indices, value(machine, stmt.value))
    else:
        raise Uncountable(f"iterations that build on each other in {stmt.buffer.name}")


def _same_element(stmt: Any) -> Any:
    """Whether an expression loads the element that a statement stores."""
    from tilelang import tvm

    def same(node: Any) -> bool:
        return (
            type(node).__name__ == "BufferLoad"
            and node.buffer.data.same_as(stmt.buffer.data)
            and all(
                tvm.ir.structural_equal(mine, its)
                for mine, its in zip(node.indices, stmt.indices, strict=True)
            )
        )

    return same


_RUNNERS: Mapping[str, Callable[[Any, Any], None]] = {
    "SeqStmt": _sequence,
    "AttrStmt": _attribute,
    "AssertStmt": _assertion,
    "BlockRealize": _realize,
    "Block": _block,
    "AllocBuffer": _alloc,
    "DeclBuffer": _declare,
    "LetStmt": _let,
    "Bind": _bind,
    "For": _for,
    "While": _while,
    "IfThenElse": _branch,
    "Evaluate": _evaluate,
    "BufferStore": _store,
    "SBlock": _block,
    "SBlockRealize": _realize,
}
