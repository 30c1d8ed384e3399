"""Arguments of the reducer operations by place and by name, in script and eager kernels.

The names are those of TileLang 0.1.15 (`reducer`, `init`; `target`, `value`; `reducer`, `dst`,
`batch`, `annotations`), and for the RFC's spelling `reducer`, `indices` or `index`, `value`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

from reducer_compat import ReducerError, simt
from reducer_compat.adapter import adapter
from tests.compat.front_ends import target
from tests.compat.lowering import source
from tests.compat.share import dealt

ROWS, COLUMNS = 4, 32
A = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS) - 60
WANTED = A.max(1)


def alloc(**named: Any) -> Any:
    return T.alloc_reducer(**{"shape": (ROWS,), "dtype": "float32", "op": "max", **named})


#: Each takes the operations of one epoch and gives what they return.
INITS: dict[str, Callable[..., Any]] = {
    "place": lambda acc: T.reducer_init(acc, -1000),
    "name": lambda acc: T.reducer_init(acc, init=-1000),
    "names": lambda acc: T.reducer_init(init=np.float32(-1000), reducer=acc),
    "no seed": lambda acc: T.reducer_init(reducer=acc),
    "None": lambda acc: T.reducer_init(acc, init=None),
}
UPDATES: dict[str, Callable[..., Any]] = {
    "shipped, place": lambda acc, i, v: T.reducer_update(acc[i], v),
    "shipped, name": lambda acc, i, v: T.reducer_update(acc[i], value=v),
    "shipped, names": lambda acc, i, v: T.reducer_update(value=v, target=acc[i]),
    "rfc, place": lambda acc, i, v: T.reducer_update(acc, (i,), v),
    "rfc, bare": lambda acc, i, v: T.reducer_update(acc, i, v),
    "rfc, list": lambda acc, i, v: T.reducer_update(acc, [i], value=v),
    "rfc, name": lambda acc, i, v: T.reducer_update(acc, indices=(i,), value=v),
    "rfc, index": lambda acc, i, v: T.reducer_update(acc, index=i, value=v),
    "rfc, names": lambda acc, i, v: T.reducer_update(value=v, indices=i, reducer=acc),
}
FINALIZES: dict[str, Callable[..., Any]] = {
    "place": lambda acc, out: T.finalize_reducer(acc, out, 2),
    "name": lambda acc, out: T.finalize_reducer(acc, dst=out, batch=2),
    "names": lambda acc, out: T.finalize_reducer(annotations={}, batch=1, dst=out, reducer=acc),
    "dst": lambda acc, out: T.finalize_reducer(reducer=acc, dst=out),
}


def script(init: Any, update: Any, finalize: Any) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((ROWS, COLUMNS), "float32"), Y: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=64):
            acc = alloc()
            out = T.alloc_fragment((ROWS,), "float32")
            init(acc)
            for i, j in T.Parallel(ROWS, COLUMNS):
                update(acc, i, X[i, j])
            finalize(acc, out)
            T.copy(out, Y)

    return kernel


def eager(init: Any, update: Any, finalize: Any) -> Any:
    @tilelang.jit(target=target())
    def kernel(X, Y):
        X: T.Tensor((ROWS, COLUMNS), "float32")
        Y: T.Tensor((ROWS,), "float32")
        with T.Kernel(1, threads=64):
            acc = alloc()
            out = T.alloc_fragment((ROWS,), "float32")
            init(acc)
            for i, j in T.Parallel(ROWS, COLUMNS):
                update(acc, i, X[i, j])
            finalize(acc, out)
            T.copy(out, Y)

    return kernel.get_tir(torch.empty(ROWS, COLUMNS), torch.empty(ROWS))


FRONT_ENDS = [script, eager]


@pytest.mark.parametrize(("update", "front_end"), dealt(UPDATES, FRONT_ENDS, hands=3))
def test_an_update_by_place_and_by_name(front_end: Callable[..., Any], update: str) -> None:
    func = front_end(INITS["place"], UPDATES[update], FINALIZES["place"])
    np.testing.assert_array_equal(simt.run(func, A), WANTED)


@pytest.mark.parametrize(("init", "front_end"), dealt(INITS, FRONT_ENDS, hands=3))
def test_an_init_by_place_and_by_name(front_end: Callable[..., Any], init: str) -> None:
    func = front_end(INITS[init], UPDATES["rfc, bare"], FINALIZES["place"])
    np.testing.assert_array_equal(simt.run(func, A), WANTED)


@pytest.mark.parametrize(("finalize", "front_end"), dealt(FINALIZES, FRONT_ENDS, hands=3))
def test_a_finalize_by_place_and_by_name(front_end: Callable[..., Any], finalize: str) -> None:
    func = front_end(INITS["name"], UPDATES["shipped, name"], FINALIZES[finalize])
    np.testing.assert_array_equal(simt.run(func, A), WANTED)


@pytest.mark.skipif(not adapter().native_v2, reason="TileLang has no reducers of its own")
@pytest.mark.parametrize("update", UPDATES, ids=str)
def test_tilelang_takes_the_same_names(environment: pytest.MonkeyPatch, update: str) -> None:
    environment.setenv("REDUCER_COMPAT", "native")
    func = script(INITS["names"], UPDATES[update], FINALIZES["names"])
    np.testing.assert_array_equal(simt.run(func, A), WANTED)


#: Mistakes, by what the error says of each.
WRONG: dict[str, dict[str, Callable[..., Any]]] = {
    "reducer_init: got an unexpected keyword argument 'seed'": {
        "init": lambda acc: T.reducer_init(acc, seed=0)
    },
    "reducer_init: missing a required argument: 'reducer'": {"init": lambda acc: T.reducer_init()},
    "reducer_init: too many positional arguments": {"init": lambda acc: T.reducer_init(acc, 0, 1)},
    "the seed is a str, neither a number nor an expression": {
        "init": lambda acc: T.reducer_init(acc, "0")
    },
    "the seed is a Buffer, neither a number nor an expression": {
        "init": lambda acc: T.reducer_init(acc, init=T.alloc_fragment((ROWS,), "float32"))
    },
    "a contribution is a list, neither a number nor an expression": {
        "update": lambda acc, i, v: T.reducer_update(acc[i], [v])
    },
    "a contribution is a NoneType, neither a number nor an expression": {
        "update": lambda acc, i, v: T.reducer_update(acc[i], value=None)
    },
    "reducer_update got a float as an index": {
        "update": lambda acc, i, v: T.reducer_update(acc, 0.5, v)
    },
    "reducer_update does not name the output it contributes to": {
        "update": lambda acc, i, v: T.reducer_update(acc[i], val=v)
    },
    "reducer_update does not name the output": {"update": lambda acc, i, v: T.reducer_update(acc)},
    "does not name the output it contributes": {
        "update": lambda acc, i, v: T.reducer_update(acc, v)
    },
    "does not name the output": {
        "update": lambda acc, i, v: T.reducer_update(acc, (i,), v, value=v)
    },
    "finalize_reducer: got an unexpected keyword argument 'out'": {
        "finalize": lambda acc, out: T.finalize_reducer(acc, out=out)
    },
    "finalize_reducer: batch must be >= 1, got 0": {
        "finalize": lambda acc, out: T.finalize_reducer(acc, out, batch=0)
    },
    "finalize_reducer: batch must be >= 1, got '2'": {
        "finalize": lambda acc, out: T.finalize_reducer(acc, dst=out, batch="2")
    },
    "the destination of finalize_reducer is a str": {
        "finalize": lambda acc, out: T.finalize_reducer(acc, dst="out")
    },
    "which T.alloc_reducer did not make": {
        "finalize": lambda acc, out: T.finalize_reducer(out, dst=acc)
    },
    "alloc_reducer: got an unexpected keyword argument 'operation'": {
        "init": lambda acc: alloc(operation="max")
    },
    "replication must be 'all' or 'none', got 'some'": {
        "init": lambda acc: alloc(replication="some")
    },
    'combined by "mean", which is no reduction operation': {"init": lambda acc: alloc(op="mean")},
    "a max of float8_e4m3fn is not supported": {"init": lambda acc: alloc(dtype="float8_e4m3fn")},
    "a reducer is combined by bitor, which float32 does not have": {
        "init": lambda acc: alloc(op="bitor")
    },
}


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("message", WRONG, ids=str)
def test_a_wrong_call_says_kernel_line_and_way_out(
    front_end: Callable[..., Any], message: str
) -> None:
    right = {
        "init": INITS["place"],
        "update": UPDATES["rfc, bare"],
        "finalize": FINALIZES["place"],
    }
    with pytest.raises(ReducerError) as caught:
        front_end(*{**right, **WRONG[message]}.values())
    error = caught.value
    assert message in error.message
    assert error.code in ("RC002", "RC004", "RM217")
    assert error.kernel == "kernel"
    assert error.fix
    name, _, line = error.location.rpartition(":")
    assert name == __file__
    (wrong,) = WRONG[message].values()
    assert int(line) in lines(wrong) | lines(alloc)


def lines(function: Callable[..., Any]) -> set[int]:
    return {line for _, _, line in function.__code__.co_lines() if line}


def test_a_failure_of_tilelang_names_the_first_reducer() -> None:
    """TileLang's own errors have no line: a fragment that it cannot lay out, for one."""

    @T.prim_func
    def ragged(X: T.Tensor((7, 100), "float32"), Y: T.Tensor((7,), "float32")):
        with T.Kernel(1, threads=96):
            held = T.alloc_fragment((7, 100), "float32")
            acc = T.alloc_reducer((7,), "float32")
            out = T.alloc_fragment((7,), "float32")
            T.copy(X, held)
            T.reducer_init(acc)
            for i, j in T.Parallel(7, 100):
                T.reducer_update(acc[i], held[i, j])
            T.finalize_reducer(acc, out)
            T.copy(out, Y)

    with pytest.raises(ReducerError) as caught:
        source(ragged)
    assert (caught.value.code, caught.value.kernel) == ("RC003", "ragged")
    text, first = inspect.getsourcelines(test_a_failure_of_tilelang_names_the_first_reducer)
    place = first + next(n for n, line in enumerate(text) if "alloc_reducer" in line)
    assert caught.value.location == f"{__file__}:{place}"
