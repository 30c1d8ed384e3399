"""Flattening a buffer of a kernel with reducers leaves every index its value."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tilelang
import tilelang.language as T
from tilelang import tvm

from reducer_compat import ladder, pipeline, simt
from reducer_compat.adapter import FLATTEN_PASS, adapter
from tests.compat.lowering import body, source

tir = adapter().tir
CONSTANTS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def random_index(rng: random.Random, variables: list[Any], steps: int) -> Any:
    """Remainders, quotients, products and sums of the variables of loops and threads."""
    index = rng.choice(variables) * integer(rng.choice((1, 1, 2, 3, 8)))
    for _ in range(steps):
        kind, constant = rng.choice("mmmdddxaasv"), integer(rng.choice(CONSTANTS))
        if kind == "m":
            index = tir.FloorMod(index, constant)
        elif kind == "d":
            index = tir.FloorDiv(index, constant)
        elif kind == "x":
            index = index * integer(rng.choice((2, 3, 4, 8, 16, 32)))
        elif kind == "v":
            index = index + random_index(rng, variables, 1)
        else:
            index = index + integer(rng.choice((1, 2, 3, 8, 16)) * (1 if kind == "a" else -1))
    return index


def integer(value: int) -> Any:
    return tir.IntImm("int32", value)


def storing(index: Any, thread: Any, threads: int, turn: Any, turns: int) -> Any:
    """A module whose kernel stores at an index."""
    target = tir.decl_buffer((1 << 20,), "int32", name="A")
    store = tir.BufferStore(target, integer(0), [index])
    launch = tir.IterVar(tvm.ir.Range(0, threads), thread, 1, "threadIdx.x")
    loop = tir.For(turn, 0, turns, 0, store)
    whole = tir.AttrStmt(launch, "thread_extent", integer(threads), loop)
    handle = tir.Var("handle", "handle")
    kernel = tir.PrimFunc([handle], whole, buffer_map={handle: target})
    return tvm.IRModule({"main": kernel.with_attr("global_symbol", "main")})


def flattened(mod: Any, names: tuple[str, ...]) -> Any:
    """The index of the store, once TileLang's pass has run between ours."""
    flatten = getattr(tilelang.transform, FLATTEN_PASS)()
    original = getattr(flatten, "_original", flatten)
    with ladder.standing_on(ladder.TOP, lambda: names):
        mod = pipeline.around_flattening(original, mod)
    found: list[Any] = []

    def see(node: Any) -> None:
        if isinstance(node, tir.BufferStore):
            found.append(node)

    tir.stmt_functor.post_order_visit(mod["main"].body, see)
    return found[0].indices[0]


def values(expr: Any, env: dict[str, Any]) -> Any:
    if isinstance(expr, tir.Var):
        return env[str(expr.name)]
    if isinstance(expr, tir.IntImm):
        return np.int64(int(expr.value))
    one, other = values(expr.a, env), values(expr.b, env)
    return {
        "Add": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "FloorMod": np.mod,
        "FloorDiv": np.floor_divide,
        "Mod": np.fmod,
        "Div": lambda a, b: np.sign(a) * (np.abs(a) // b),
    }[type(expr).__name__](one, other)


def kept(seed: int, names: tuple[str, ...]) -> bool:
    """Whether a random index has its value for every thread and turn, once it is flattened."""
    rng = random.Random(seed)
    threads, turns = rng.choice((32, 96, 128, 192, 256, 384)), rng.choice((2, 3, 4, 8, 16))
    thread, turn = tir.Var("tx", "int32"), tir.Var("k", "int32")
    index = random_index(rng, [thread, turn], rng.randint(2, 5))
    mod = storing(index, thread, threads, turn, turns)
    env = {"tx": np.arange(threads)[:, None], "k": np.arange(turns)[None, :]}
    return bool(np.all(values(index, env) == values(flattened(mod, names), env)))


def test_every_index_of_a_kernel_with_reducers_keeps_its_value() -> None:
    assert [seed for seed in range(400) if not kept(seed, ("main",))] == []


def test_tilelang_alone_changes_some() -> None:
    """It fails when a release no longer does, which then needs no pass."""
    assert [seed for seed in range(400) if not kept(seed, ())] != []


def remainders(threads: int) -> Any:
    """Updates at a remainder that divides no power of two."""

    @T.prim_func
    def main(A: T.Tensor((3, 8, 32), "float32"), out: T.Tensor((3, 8), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((3, 8), "float32", op="sum")
            result = T.alloc_fragment((3, 8), "float32")
            T.reducer_init(acc)
            for i, j, p in T.Parallel(3, 8, 32):
                T.reducer_update(acc[j % 3, i], A[i, j, p])
            T.finalize_reducer(acc, result)
            T.copy(result, out)

    return main


@pytest.mark.parametrize("threads", [96, 128, 384])
def test_updates_at_remainders_are_right(threads: int) -> None:
    a = np.random.default_rng(0).integers(-8, 9, (3, 8, 32)).astype(np.float32)
    wanted = np.zeros((3, 8), np.float32)
    for j in range(8):
        wanted[j % 3, :3] += a[:, j].sum(1)
    np.testing.assert_array_equal(simt.run(remainders(threads), a), wanted)


def test_a_kernel_without_reducers_is_generated_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    @T.prim_func
    def main(A: T.Tensor((3, 8, 32), "float32"), out: T.Tensor((3, 8, 32), "float32")):
        with T.Kernel(1, threads=384):
            for i, j, p in T.Parallel(3, 8, 32):
                out[i, j, p] = A[j % 3, 0, p]

    mended = body(source(main))
    monkeypatch.setattr(pipeline, "is_doubtful", lambda func: pytest.fail("looked at"))
    assert body(source(main)) == mended
